import { execute, type JsonObject } from '../../kernel/index.ts'
import executorNative from '../../plugins/executor-native/index.ts'
import executorWorker from '../../plugins/executor-worker/index.ts'
import skillsDirectory from '../../plugins/skills-directory/index.ts'
import { startKernel } from './kernel.ts'

export interface Bundled {
  /** Calls a tool of a bundled skill, as any door does. @throws SkilletError when it was refused or failed */
  call (skill: string, tool: string, parameters: JsonObject, signal?: AbortSignal): Promise<string>
  /** The same, for a tool that answers with JSON. */
  json (skill: string, tool: string, parameters: JsonObject): Promise<unknown>
  close (): Promise<void>
}

/**
 * A kernel with the bundled skills and the executors of the program. `skills` are sections `[skills.config.<name>]`.
 */
export async function startBundled (skills: JsonObject = {}): Promise<Bundled> {
  process.env['XDG_CONFIG_HOME'] = '/nonexistent' // skills of whoever runs the tests
  const { kernel, close } = await startKernel({
    config: { skills: { config: skills } }, plugins: [executorWorker, executorNative, skillsDirectory]
  })
  const call: Bundled['call'] = async (skill_name, tool_name, parameters, signal = new AbortController().signal) => {
    const { output } = await kernel.gateway.invoke(
      execute, { skill_name, tool_name, parameters, timeout_ms: 120_000 }, { transport: 'cli', signal }
    )
    return output
  }
  return { call, json: async (...args) => JSON.parse(await call(...args)) as unknown, close }
}
