/**
 * The settings of a skill's instance, as they travel from its definition to its executor and to the script thread.
 * Plain data.
 */
export interface RunSettings {
  /** What `validateConfig` is given, and `SKILL_<KEY>` holds. */
  config: Record<string, string>
  /** Variables of its scripts and commands. */
  env: Record<string, string>
  /** Keys of settings that are secret. */
  secret_keys: string[]
}

/** How a tool is run. It stands in the `target` of its definition. */
export type Target =
  | { kind: 'script', settings: RunSettings, programs: string[] }
  | { kind: 'words', settings: RunSettings, command: string[], declared: string[] }
  | { kind: 'refused', message: string }

/** The variables of a skill's scripts and commands: its own, and a `SKILL_<KEY>` for each setting and secret. */
export function variablesOf (
  { config, env }: RunSettings, secrets: Readonly<Record<string, string>> = {}
): Record<string, string> {
  const settings = Object.entries({ ...config, ...secrets })
    .map(([key, value]) => [`SKILL_${key.toUpperCase()}`, value] as const)
    .filter(([name]) => /^[A-Z_][A-Z0-9_]*$/.test(name))
  return { ...env, ...Object.fromEntries(settings) }
}
