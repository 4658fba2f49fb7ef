import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { writeSkills } from '../support/e2e-skills.ts'
import { makeHome, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const home = await makeHome()
await writeSkills(home.skills)
t.teardown(home.remove)

t.test('list shows every skill, for people and for programs, and names the broken one', async t => {
  const shown = await skillet(home, ['list'])
  t.equal(shown.status, 0)
  t.match(shown.stdout, /temper — Tools of every temper/)
  t.match(shown.stdout, /text:count text=…/)
  t.match(shown.stderr, /warning: a skill could not be loaded .*broken/)
  const { skills, total } = JSON.parse(
    (await skillet(home, ['list', '--json'])).stdout
  ) as { skills: { name: string }[], total: number }
  t.equal(total, skills.length)
  const bare = await skillet(home, ['list', '--json', '--no-bundled-skills'])
  t.same((JSON.parse(bare.stdout) as { skills: { name: string }[] }).skills.map(({ name }) => name), [
    'command', 'temper'
  ])
})

t.test('run prints the output, and takes parameters in three ways', async t => {
  t.match(
    await skillet(home, ['run', 'temper:echo', 'text=a = b']),
    { status: 0, stdout: 'a = b\n', stderr: '' },
    'nothing is said of other skills'
  )
  t.match(await skillet(home, ['run', 'temper:echo', '--params', '{"text": "json"}']), { status: 0, stdout: 'json\n' })
  t.match(await skillet(home, ['run', 'temper:echo', '--params', '-'], { input: '{"text": "piped"}' }), {
    status: 0,
    stdout: 'piped\n'
  })
  const result = JSON.parse((await skillet(home, ['run', 'command:sleep', 'seconds=0', '--json'])).stdout) as object
  t.match(
    result, { execution_id: String, status: 'success', output: '', duration_ms: Number }, 'a number is read by its type'
  )
  t.match(await skillet(home, ['run', '--skills', home.skills, 'temper:echo', 'text=after a flag']), {
    status: 0,
    stdout: 'after a flag\n'
  })
})

t.test('each kind of end has its exit status, with the error on standard error', async t => {
  const cases: [string[], number, RegExp][] = [
    [['run', 'temper:fail'], 1, /error: .*out of luck/],
    [['run', 'command:false'], 1, /why/],
    [['run', 'temper:echo'], 2, /parameters must have the field "text"/],
    [['run', 'temper:echo', 'txt=1', 'text=1'], 2, /unknown field "txt"; did you mean "text"/],
    [['run', 'command:sleep', 'seconds=soon'], 2, /parameters\/seconds must be integer/],
    [['run', 'temper'], 2, /SKILL:TOOL/],
    [['run', 'temper:echo', '--params', '{'], 2, /not valid JSON/],
    [['run', 'temper:echo', '--params', '[]'], 2, /JSON object/],
    [['run', 'temper:wait', '--timeout', 'soon'], 2, /timeout/],
    [['run'], 2, /missing required argument/],
    [['lst'], 2, /unknown command/],
    [['run', 'tempr:echo'], 3, /did you mean "temper"/],
    [['run', 'temper:ecko'], 3, /did you mean "echo"/],
    [['run', 'broken:x'], 3, /could not be loaded/],
    [['run', 'temper:hang', '--timeout', '50'], 4, /time limit of 50 ms/],
    [['run', 'temper:echo', 'text=x', '--config', '/no/such.toml'], 2, /no\/such\.toml can't be read/]
  ]
  for (const [args, status, why] of cases) {
    const ended = await skillet(home, args)
    t.equal(ended.status, status, args.join(' '))
    t.match(ended.stderr, why)
    t.equal(ended.stdout, '')
    t.notMatch(ended.stderr, /\n\s+at /, 'no stack trace')
  }
  const json = await skillet(home, ['run', 'temper:fail', '--json', '--no-bundled-skills'])
  t.match(JSON.parse(json.stderr.trim().split('\n').at(-1) ?? ''), {
    success: false,
    error: { code: 'TOOL_EXECUTION_FAILED' }
  })
})

t.test('Ctrl-C cancels the execution', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  for (const [tool, seconds] of [
    ['temper:wait', []], ['command:sleep', ['seconds=3600']], ['temper:hang', []]
  ] as const) {
    const name = tool.split(':')[1]
    const running = `/api/executions?status=running&tool_name=${name}`
    let interrupt = (): void => {}
    const ended = skillet(home, ['run', tool, ...seconds], {
      running: child => { interrupt = () => { child.kill('SIGINT') } }
    })
    await until(async () => (await request(server.url, running)).body['total'] === 1)
    interrupt()
    t.match(await ended, { status: 130, stderr: /interrupted/ }, tool)
    t.match(await request(server.url, `/api/executions?limit=1&tool_name=${name}`), {
      body: { executions: [{ status: 'cancelled' }] }
    })
  }
})

t.test('a skill that was just written is there', async t => {
  const folder = join(home.skills, 'greet')
  await mkdir(folder)
  await writeFile(join(folder, 'skill.ts'), `
    import { upper } from './upper.ts'
    const greeting: string = 'hello'
    export default { description: 'Greet', tools: { hello: { description: 'Say hello', parameters: { name: { type: 'string', description: 'Who', required: true } }, run: ({ name }: { name: string }) => upper(greeting + ' ' + name) } } }`)
  await writeFile(join(folder, 'upper.ts'), 'export const upper = (text: string): string => text.toUpperCase()')
  t.match(await skillet(home, ['run', 'greet:hello', 'name=world']), { status: 0, stdout: 'HELLO WORLD\n' })
})

t.test('further plugins are loaded by path, and take the place of ours where there can be one', async t => {
  await writeFile(join(home.folder, 'shout.mjs'), `
    export default { name: 'shout', api: 1, slot: 'search', setup: () => ({ async index () {}, async search (query) { return { mode: 'shout', results: [{ skill_name: 'x', tool_name: query.toUpperCase(), description: '', score: 1 }] } } }) }`)
  await writeFile(join(home.folder, 'skillet.toml'), 'plugins = ["./shout.mjs"]\n')
  const server = await startServer(home)
  t.teardown(server.kill)
  t.match(await request(server.url, '/api/search', { query: 'loud' }), {
    body: { mode: 'shout', results: [{ tool_name: 'LOUD' }] }
  })
  t.match((await request(server.url, '/api/health')).body['plugins'], [{ name: 'storage-lmdb', state: 'ready' }])
  await writeFile(join(home.folder, 'skillet.toml'), 'plugins = ["./gone.mjs"]\n')
  t.match(await skillet(home, ['list']), { status: 5, stderr: /plugins: ".*gone\.mjs" can't be loaded/ })
})
