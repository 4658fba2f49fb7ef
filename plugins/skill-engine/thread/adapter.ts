import { readResult, readVerdict } from '../run/result.ts'
import { safeCommand } from '../run/safe-command.ts'
import { variablesOf, type RunSettings } from '../run/settings.ts'
import { skillModuleOf, type SkillModule } from '../run/skill-module.ts'
import { commandMark } from '../run/split-command.ts'

/** The part of a tool's context that is used here. */
interface Context { config: unknown, secrets: Readonly<Record<string, string>> }
type Parameters = Record<string, unknown>

/** Runs the code of a skill. Code in WebAssembly asks for its settings whenever it is called. */
export type Load = (settings: () => Pick<RunSettings, 'config' | 'env'>) => Promise<unknown>

/**
 * Presents the code of a skill as one of our script skills. It is built into one file with that code, and runs where
 * script skills run. A result that is a command comes out as its argument vector, in JSON behind the mark.
 * @param load imports the code: at the first call, when its variables are set
 */
export function adapt (
  load: Load, tools: readonly string[]
): { tools: Record<string, { run: (parameters: Parameters, context: Context) => Promise<string> }> } {
  let loaded: Promise<SkillModule> | undefined
  let verdict: Promise<string | undefined> | undefined
  let current: Pick<RunSettings, 'config' | 'env'> = { config: {}, env: {} }
  const run = async (tool: string, parameters: Parameters, context: Context): Promise<string> => {
    const settings = settingsOf(context.config)
    current = { config: { ...settings.config, ...context.secrets }, env: variablesOf(settings, context.secrets) }
    provide(settings, context.secrets)
    const skill = await (loaded ??= load(() => current).then(skillModuleOf))
    const refusal = await (verdict ??= validate(skill, settings, context.secrets))
    if (refusal !== undefined) throw new Error(`its settings are refused: ${refusal}`)
    const ask = async (given: Parameters) =>
      readResult(await skill.executeTool(tool, skill.kit ? pairsOf(given) : JSON.stringify(given)))
    const result = await ask(parameters)
    if ('failure' in result) throw new Error(result.failure)
    if (!result.output.startsWith(commandMark)) return result.output
    const vector = await safeCommand(result.output.slice(commandMark.length), parameters, async given => {
      const second = await ask(given).catch(() => undefined)
      return second !== undefined && 'output' in second ? second.output : undefined
    })
    return commandMark + JSON.stringify(vector)
  }
  return {
    tools: Object.fromEntries(tools.map(tool =>
      [tool, { run: (parameters: Parameters, context: Context) => run(tool, parameters, context) }]))
  }
}

/** The names of the tools in a text: none while it is the mark in their place. */
export function toolsIn (text: string): string[] {
  return text.startsWith('[') ? JSON.parse(text) as string[] : [] // `present` in code-cache.ts wrote it
}

/** The settings that the executor put into the context. */
function settingsOf (config: unknown): RunSettings {
  return (config as { skill_engine: RunSettings }).skill_engine // the executor of this plugin made it
}

/** Sets the variables and functions by which skills read their settings. */
function provide (settings: RunSettings, secrets: Context['secrets']): void {
  Object.assign(process.env, variablesOf(settings, secrets))
  Object.assign(globalThis, {
    getConfig: (key: unknown): unknown => {
      const name = String(key).toUpperCase()
      return process.env[name.startsWith('SKILL_') ? name : `SKILL_${name}`]
    }
  })
}

/** Shows the code its settings. @returns why it refuses them */
async function validate (
  skill: SkillModule, { config, secret_keys }: RunSettings, secrets: Context['secrets']
): Promise<string | undefined> {
  if (skill.validateConfig === undefined) return undefined
  const all = { ...config, ...secrets }
  const list = Object.entries(all).map(([key, value]) => ({ key, value, secret: secret_keys.includes(key) }))
  try {
    return readVerdict(await skill.validateConfig(skill.kit ? list : JSON.stringify(all)))
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The arguments as the kit takes them: pairs of texts. */
function pairsOf (parameters: Parameters): [string, string][] {
  return Object.entries(parameters).map(([key, value]) =>
    [key, typeof value === 'string' ? value : JSON.stringify(value)])
}
