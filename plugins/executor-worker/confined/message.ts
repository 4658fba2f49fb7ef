import { declaredEnvironment } from '../main/environment.ts'
import type { Run } from '../main/run.ts'
import type { CallTool, Of } from '../shared/protocol.ts'

/** The message that gives a process one run. @param module the path of the module in the sandbox */
export function runOf (run: Run, number: number, module: string): Of<'run'> {
  const { task, sensitive } = run
  return {
    type: 'run', run: number, execution_id: task.execution_id, module, revision: task.skill.revision,
    tool: task.tool.name, parameters: task.parameters, config: task.config, secrets: task.secrets ?? {}, sensitive,
    env: declaredEnvironment(process.env, task.skill.permissions.env)
  }
}

/** The message that gives a process a batch. @param first the number of its first run */
export function batchOf (runs: readonly Run[], first: number, module: string): Of<'batch'> {
  const tools: CallTool[] = []
  const numbers = new Map<object, number>()
  const tool_of = runs.map(({ task: { tool, config, skill } }) => {
    const number = numbers.get(tool)
    if (number !== undefined && tools[number]?.config === config) return number
    numbers.set(tool, tools.length)
    const env = declaredEnvironment(process.env, skill.permissions.env)
    return tools.push({ module, revision: skill.revision, tool: tool.name, config, env }) - 1
  })
  return {
    type: 'batch', run: first, tools, tool_of,
    execution_ids: runs.map(({ task }) => task.execution_id),
    parameters: JSON.stringify(runs.map(({ task }) => task.parameters))
  }
}
