import { resolve } from 'node:path'
import { findProgram } from '../toolkit/find-program.ts'
import { howToInstall } from '../toolkit/packages.ts'
import { askEngine, type Answer } from './client.ts'
import { EngineFault } from './engine-fault.ts'

/** How long an engine may take to say what it is, in milliseconds. */
const identify_ms = 10_000

/** A container engine on this machine. */
export interface Engine {
  /** What the user calls it, for messages: `docker`. */
  name: string
  /** The absolute path of its program. */
  file: string
  /** Whose options it takes: what is called `docker` may be podman. */
  kind: 'docker' | 'podman'
  /** What stands before each of its commands. */
  options: readonly string[]
}

/** Finds the engine when it is needed, and keeps what it found. */
export class EngineFinder {
  readonly #setting: string
  readonly #options: readonly string[]
  #found: Promise<Engine> | undefined

  /** @param setting `auto`, or a program or its path */
  constructor (setting: string, options: readonly string[]) {
    this.#setting = setting
    this.#options = options
  }

  /** Rejects with an EngineFault when there is none, or when it does not work; the next call looks again. */
  async find (): Promise<Engine> {
    const found = this.#found ??= findEngine(this.#setting, this.#options)
    try {
      return await found
    } catch (error) {
      if (this.#found === found) this.#found = undefined
      throw error
    }
  }
}

/** Asks an engine for something small. Never rejects. */
export async function ask ({ file, options }: Engine, args: readonly string[], limit_ms: number): Promise<Answer> {
  return await askEngine(file, [...options, ...args], limit_ms)
}

async function findEngine (setting: string, options: readonly string[]): Promise<Engine> {
  const names = setting === 'auto' ? ['docker', 'podman'] : [setting]
  const engines: { name: string, file: string }[] = []
  for (const name of names) {
    const file = await findProgram(name)
    if (file !== undefined) engines.push({ name, file: resolve(file) })
  }
  const [first, second] = engines
  if (first === undefined) throw new EngineFault(missing(setting))
  // The client of docker is often there without its daemon.
  const chosen = second === undefined || await answers(first.file, options) ? first : second
  return { ...chosen, kind: await kindOf(chosen.name, chosen.file), options }
}

function missing (setting: string): string {
  if (setting !== 'auto') {
    return `the container engine "${setting}" was not found; correct plugin.executor-container.engine, or install it`
  }
  const how = howToInstall('docker')
  return 'no container engine was found: install docker or podman'
    + `${how === undefined ? '' : ` (${how})`}, or set plugin.executor-container.engine`
}

async function answers (file: string, options: readonly string[]): Promise<boolean> {
  const { code } = await askEngine(file, [...options, 'version', '--format', '{{.Server.Version}}'], identify_ms)
  return code === 0
}

async function kindOf (name: string, file: string): Promise<Engine['kind']> {
  const { code, stdout, stderr } = await askEngine(file, ['--version'], identify_ms)
  if (code === 0) return /\bpodman\b/i.test(stdout) ? 'podman' : 'docker'
  throw new EngineFault(`the container engine ${name} does not work: \`${file} --version\` failed: ${stderr}`)
}
