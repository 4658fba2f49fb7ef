import { instantiate, type Program } from './program.ts'
import { RunState } from './run-state.ts'

type Functions = Record<'getMetadata' | 'getTools' | 'executeTool' | 'validateConfig', (...given: string[]) => unknown>

/** What a component of the Skill Engine is given: settings by their keys, and variables. */
interface Settings { config: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> }

/** How much of what a component prints is kept, in bytes. */
const outputBytesMax = 65_536

/**
 * Presents a component of the Skill Engine as the module that its code in JavaScript would be. As in that program, each
 * call has an instance of its own: what one call leaves behind, no other finds. A configuration that was checked is
 * shown to each of them.
 * @param exported the names of its functions
 * @param settings tells what it is given now
 */
export function engineModule (
  program: Program & { kind: 'component' }, exported: readonly string[], memory_bytes_max: number,
  settings: () => Settings
): Record<string, (...given: unknown[]) => unknown> {
  let checked: string | undefined
  const call = (name: string, given: readonly string[]): unknown => {
    const { config, env } = settings()
    const state = new RunState('skill', {
      args: [], env, stdin: '', preopens: [], output_bytes_max: outputBytesMax
    })
    try {
      const component = instantiate(program, state, memory_bytes_max, {
        'get-config': { default: (key: string) => settingOf(config, key) },
        'get-all-config': { default: () => Object.entries(config) }
      }) as Functions
      if (name === 'executeTool' && checked !== undefined) component.validateConfig(checked)
      return Reflect.apply(Reflect.get(component, name), undefined, given)
    } finally {
      state.files.closeAll()
      print(state)
    }
  }
  const functions: Record<string, (...given: unknown[]) => unknown> = {}
  for (const name of exported) functions[name] = (...given) => call(name, given.map(String))
  if (exported.includes('validateConfig')) {
    functions['validateConfig'] = config => {
      checked = String(config)
      return call('validateConfig', [checked])
    }
  }
  return functions
}

/** A setting by its key, or by the name of its variable: `region`, `REGION` and `SKILL_REGION` are the same. */
function settingOf (config: Settings['config'], key: string): string | undefined {
  if (Object.hasOwn(config, key)) return config[key]
  const plain = key.toUpperCase().replace(/^SKILL_/, '')
  return Object.entries(config).find(([name]) => name.toUpperCase() === plain)?.[1]
}

/** What a component prints is a part of the log. */
function print ({ output, errors }: RunState): void {
  if (output.length > 0) process.stdout.write(output)
  if (errors !== '') process.stderr.write(errors)
}
