import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { fromHome, type Config, type SkillWarning, type ToolDefinition } from '../../../kernel/index.ts'
import type { Folder } from '../shared/protocol.ts'

type Settings = Config['skills']['config']
type Command = NonNullable<ToolDefinition['command']>

/** The folder of the programs in a virtual environment. */
const bin = process.platform === 'win32' ? 'Scripts' : 'bin'
const program = process.platform === 'win32' ? 'python.exe' : 'python'

/** A Python interpreter that a skill's settings name. */
interface Python {
  interpreter: string
  /** The folder of the virtual environment, if the interpreter belongs to one. */
  venv?: string
  warning?: string
}

/**
 * Chooses the interpreter for the Python scripts of Agent Skills folders: the interpreter or virtual environment in
 * `[skills.config.NAME] python`; for a script that names its packages itself, uv where it is installed; otherwise the
 * interpreter that the script names.
 */
export class Interpreters {
  readonly #settings: Settings
  readonly #env: NodeJS.ProcessEnv
  #uv: Promise<boolean> | undefined

  constructor(settings: Settings, env: NodeJS.ProcessEnv = process.env) {
    this.#settings = settings
    this.#env = env
  }

  /** The tools of a folder with the interpreters that run them here. */
  async choose(
    { name, path }: Pick<Folder, 'name' | 'path'>,
    tools: readonly ToolDefinition[]
  ): Promise<{ tools: ToolDefinition[], warnings: SkillWarning[] }> {
    if (!tools.some(({ script }) => script?.language === 'python')) return { tools: [...tools], warnings: [] }
    const python = await this.#pythonOf(name, path)
    const uv =
      python === undefined
      && tools.some(({ script }) => script?.inline === true)
      && (await (this.#uv ??= isInPath('uv', this.#env['PATH'] ?? '')))
    const warnings = python?.warning === undefined ? [] : [{ name, path, warning: python.warning }]
    return {
      tools: tools.map(tool =>
        python !== undefined ? withPython(tool, python, this.#env['PATH'] ?? '') : uv ? withUv(tool) : tool
      ),
      warnings
    }
  }

  async #pythonOf (name: string, folder: string): Promise<Python | undefined> {
    const settings = this.#settings[name]
    const python = settings !== undefined && Object.hasOwn(settings, 'python') ? settings['python'] : undefined
    if (python === undefined) return undefined
    const about = `[skills.config.${name}] python`
    if (typeof python !== 'string' || python === '')
      return {
        interpreter: 'python3',
        warning: `${about} must be the path of an interpreter or of a virtual environment`
      }
    if (!/[/\\]/.test(python)) return { interpreter: python } // a command, which is looked up in PATH
    const path = resolve(folder, fromHome(python))
    const stats = await stat(path).catch(() => undefined)
    if (stats?.isDirectory() !== true)
      return stats === undefined
        ? { interpreter: path, warning: `${about}: ${path} does not exist` }
        : { interpreter: path }
    const interpreter = join(path, bin, program)
    const there = await access(interpreter, constants.X_OK).then(
      () => true,
      () => false
    )
    return {
      interpreter,
      venv: path,
      ...(!there && { warning: `${about}: ${path} is no virtual environment: ${interpreter} can't be executed` })
    }
  }
}

/**
 * Runs a script by this interpreter. The skill's other scripts find it first in PATH, as in an activated virtual
 * environment.
 */
function withPython (tool: ToolDefinition, { interpreter, venv }: Python, path: string): ToolDefinition {
  const { command, script } = tool
  if (command === undefined) return tool
  const env: Command['env'] = {
    ...command.env,
    ...(venv !== undefined && {
      VIRTUAL_ENV: [{ literal: venv }],
      PATH: [{ literal: [join(venv, bin), path].join(delimiter) }]
    })
  }
  if (script?.language !== 'python') return venv === undefined ? tool : { ...tool, command: { ...command, env } }
  return {
    ...tool,
    command: { ...runBy(command, script.file, [interpreter]), env },
    script: { ...script, interpreter: [interpreter] }
  }
}

function withUv (tool: ToolDefinition): ToolDefinition {
  const { command, script } = tool
  if (command === undefined || script?.inline !== true) return tool
  const interpreter = ['uv', 'run', '--script']
  return { ...tool, command: runBy(command, script.file, interpreter), script: { ...script, interpreter } }
}

/** The command with another interpreter before the script. */
function runBy (command: Command, file: string, [program = '', ...fixed]: readonly string[]): Command {
  const at = command.parts.findIndex(
    part =>
      part.kind === 'argument'
      && part.pieces.length === 1
      && part.pieces.some(piece => 'literal' in piece && piece.literal === file)
  )
  const rest = command.program === file ? command.parts : command.parts.slice(at + 1)
  return {
    ...command,
    program,
    parts: [...[...fixed, file].map(literal => ({ kind: 'argument' as const, pieces: [{ literal }] })), ...rest]
  }
}

async function isInPath (program: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    if (
      isAbsolute(folder)
      && (await access(join(folder, program), constants.X_OK).then(
        () => true,
        () => false
      ))
    )
      return true
  }
  return false
}
