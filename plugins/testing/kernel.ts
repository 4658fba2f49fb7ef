import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  compileInputSchema, completeConfig, configSchema, createKernel, definePlugin, getExecution, listExecutions,
  sectionsOf,
  silentLogger, type AnyPlugin, type Execution, type Gateway, type JsonObject, type ToolDefinition
} from '../../kernel/index.ts'
import { exactSearch } from './exact-search.ts'

/** A kernel for what calls it: its history is in memory, and its one skill, `subject`, has the tools below. */
export interface TestKernel {
  gateway: Gateway
  /** Runs of the tool `hang`, which wait until they are cancelled or let go. */
  hanging (): number
  /** Lets all that hang succeed, with the output `let go`. */
  letGo (): void
  /** What is in the history. A run that lasts comes into it late. */
  executions (): Promise<Execution[]>
  close (): Promise<void>
}

const never = new AbortController().signal
const call = { transport: 'test', signal: never }

/**
 * Opens one.
 * @param config sections of the configuration; defaults fill in the rest
 * @param plugins plugins whose sections the configuration has; they are not started
 */
export async function openKernel (config: JsonObject = {}, plugins: readonly AnyPlugin[] = []): Promise<TestKernel> {
  // Loaded here, so that what tests no transport loads neither.
  const [{ inlineExecutor }, { default: memory }] =
    await Promise.all([import('../executor-inline/index.ts'), import('../storage-memory/index.ts')])
  const hanging = new Set<() => void>()
  const executor = inlineExecutor({
    tools: {
      'subject:echo': ({ text }) => text,
      'subject:fail': ({ message }) => { throw new Error(String(message)) },
      'subject:hang': (_, { signal }) => new Promise(resolve => {
        const end = (): void => {
          hanging.delete(end)
          resolve('let go')
        }
        hanging.add(end)
        signal.addEventListener('abort', end, { once: true })
      })
    }
  })
  const data_dir = await mkdtemp(join(tmpdir(), 'skillet-kernel-'))
  const remove = (): Promise<void> => rm(data_dir, { recursive: true, force: true })
  try {
    const kernel = await createKernel({
      config: completeConfig(config, configSchema(plugins.flatMap(sectionsOf))),
      plugins: [memory, exactSearch, executor, subject], log: silentLogger,
      version: { version: '0.0.0', commit: 'test', build_date: '2000-01-01' }, data_dir
    }, never)
    const { gateway } = kernel
    const executions = async (): Promise<Execution[]> => {
      const page = await gateway.invoke(listExecutions, {}, call)
      return await Promise.all(page.executions.map(({ id }) => gateway.invoke(getExecution, { id }, call)))
    }
    return {
      gateway,
      executions,
      hanging: () => hanging.size,
      letGo () { for (const end of hanging) end() },
      async close () {
        await kernel.stop()
        await remove()
      }
    }
  } catch (error) {
    await remove()
    throw error
  }
}

function tool (name: string, description: string, parameter?: string): ToolDefinition {
  const parameters = parameter === undefined
    ? []
    : [{ name: parameter, type: 'string' as const, description: parameter, required: true }]
  return { name, description, parameters, input_schema: compileInputSchema(parameters), secrets: [] }
}

const subject = definePlugin({
  name: 'skills-subject',
  slot: 'skills',
  setup: () => ({
    load: async () => ({
      skills: [{
        name: 'subject', description: 'Tools for tests', runtime: 'inline', directory: '/', revision: '1',
        trusted: true,
        permissions: { network: false, write: [], env: [], secrets: [] },
        tools:
          [tool('echo', 'Say the text', 'text'), tool('fail', 'Fail with the message', 'message'), tool('hang', 'Wait')]
      }],
      quarantined: []
    })
  })
})
