import t from 'tap'
import { definePlugin, searchSkills, type SearchOptions } from '../../../kernel/index.ts'
import { callableFor } from '../../../plugins/mcp/agent/agent-tool.ts'
import { searchSkillsForAgents } from '../../../plugins/mcp/agent/search-skills.ts'
import { startKernel } from '../../support/kernel.ts'

const never = new AbortController().signal
const forAgents =
  callableFor(searchSkillsForAgents, { transport: 'mcp', signal: never, client: {}, spoken: () => false })

/** A search that records what it is asked. */
function recordingSearch () {
  const calls: string[] = []
  const options: SearchOptions[] = []
  const plugin = definePlugin({
    name: 'search-recording',
    slot: 'search',
    setup: () => ({
      async index () { calls.push('index') },
      prepare () { calls.push('prepare') },
      async search (_query, asked) {
        options.push(asked)
        return { mode: 'recorded', results: [] }
      }
    })
  })
  return { calls, options, plugin }
}

t.test('a search gets ready at the start only where searches are expected, and after it knows the tools', async t => {
  for (const prepareSearch of [true, false]) {
    const { calls, plugin } = recordingSearch()
    const { close } = await startKernel({ search: plugin, prepareSearch })
    await close()
    t.same(calls, prepareSearch ? ['index', 'prepare'] : ['index'])
  }
})

t.test('an agent waits for the model and learns the method; others wait as long as the kernel was started to', async t => {
  const { options, plugin } = recordingSearch()
  const { kernel, close } = await startKernel({ search: plugin })
  t.teardown(close)
  const patient = await startKernel({ search: plugin, search_patience_ms: 10_000 })
  t.teardown(patient.close)
  t.match(await kernel.gateway.invoke(forAgents, { query: 'a' }, { transport: 'mcp', signal: never }), {
    mode: 'recorded',
    results: []
  })
  await kernel.gateway.invoke(searchSkills, { query: 'a' }, { transport: 'http', signal: never })
  await patient.kernel.gateway.invoke(searchSkills, { query: 'a' }, { transport: 'http', signal: never })
  t.same(options.map(({ patience_ms }) => patience_ms), [1_000, 0, 10_000])
})

t.test('a query may be as long as a page that is pasted, and no longer', async t => {
  const { plugin } = recordingSearch()
  const { kernel, close } = await startKernel({ search: plugin })
  t.teardown(close)
  for (const operation of [searchSkills, forAgents]) {
    const call = { transport: 'http', signal: never } as const
    t.match(await kernel.gateway.invoke(operation, { query: 'x'.repeat(65_536) }, call), { mode: 'recorded' })
    const refused = kernel.gateway.invoke(operation, { query: 'x'.repeat(65_537) }, call)
    await t.rejects(refused, { code: 'INVALID_PARAMETERS', message: /query.*65536/ })
  }
})
