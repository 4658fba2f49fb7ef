import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf, replaceFile, type Confinement, type Logger } from '../../../kernel/index.ts'
import type { ConfinedSkill } from '../../toolkit/sandbox-demand.ts'
import { ConfinementError } from '../../toolkit/sandbox/confinement-policy.ts'
import type { CodeDescription, DescribeReply } from '../thread/protocol.ts'
import { toolsMark } from '../thread/tools-mark.ts'
import {
  describeConfined, describeInThread, readDescription, type Code, type DescribeOptions
} from './describer.ts'
import { Refusal } from './engine-skill.ts'

/** Changes whenever the result for the same files changes. */
const recipe = '4'
/** A file of the cache that nobody used for this time is removed, in milliseconds. */
const unusedMax_ms = 14 * 24 * 60 * 60 * 1000

/** The most skills that are described at the same time. */
const describingMax = 4

/** Describes the code of skills: from the cache, while none of its files changes, else by running it. */
export class CodeCache {
  readonly #options: DescribeOptions
  readonly #log: Logger
  #pruned: Promise<void> | undefined
  /** The number of skills that are described now, and what waits for its turn. */
  #describing = 0
  readonly #waiting: (() => void)[] = []

  constructor (options: DescribeOptions, log: Logger) {
    this.#options = options
    this.#log = log
  }

  /** @throws Refusal when its code may not run: the skill is not trusted, or there must be a sandbox and is none */
  async describe (code: Code, signal: AbortSignal): Promise<DescribeReply> {
    await (this.#pruned ??= this.#prune())
    const { cache_dir, heap_bytes_max, modules: { policy }, trust } = this.#options
    const skill = { name: basename(code.folder), trusted: await trust.admit(code.folder), permissions: {} }
    const { entry, env } = code
    // Code may have other tools where it is confined.
    const made = [recipe, process.version, entry, env, heap_bytes_max, ...policy.concerns(skill) ? ['confined'] : []]
    const receipt = join(cache_dir, `${hashOf(JSON.stringify(made))}.json`)
    const kept = await this.#kept(receipt)
    if (kept !== undefined) return { description: kept }
    const reply = await this.#inTurn(async () => {
      const level = await this.#levelOf(skill, entry)
      return await (level === undefined
        ? describeInThread(code, true, this.#options, signal)
        : describeConfined(code, this.#options, signal))
    })
    if ('description' in reply) await this.#keep(receipt, reply.description)
    return reply
  }

  async #levelOf (skill: ConfinedSkill, entry: string): Promise<Confinement | undefined> {
    try {
      return await this.#options.modules.policy.levelOf(skill)
    } catch (error) {
      if (error instanceof ConfinementError) throw new Refusal('not-confined', entry, error.message)
      throw error
    }
  }

  /**
   * Writes a module that presents built code as a script skill: one file, which a confined process can be given, and
   * another for each instance, so that no two share what the code keeps in memory.
   * @returns its absolute path
   */
  async present (file: string, tools: readonly string[], instance: string): Promise<string> {
    const { cache_dir } = this.#options
    const names = JSON.stringify(JSON.stringify(tools))
    const path = join(cache_dir, `${hashOf(JSON.stringify([file, names, instance]))}.mjs`)
    if (await use(path)) return path
    const built = await readFile(join(cache_dir, file), 'utf8')
    const mark = JSON.stringify(toolsMark)
    const at = built.lastIndexOf(mark) // the skill's own code may have it, too, and comes before
    const code = built.slice(0, at) + names + built.slice(at + mark.length)
    await replaceFile(path, `${code}\n// ${JSON.stringify(instance)}\n`, { durable: false })
    return path
  }

  async #kept (receipt: string): Promise<CodeDescription | undefined> {
    try {
      const { hashes, ...rest } = JSON.parse(await readFile(receipt, 'utf8')) as Record<string, unknown>
      const description = readDescription(rest)
      if (description === undefined || !Array.isArray(hashes)) return undefined
      const now = await hashesOf(description.inputs)
      const isSame = now.every((hash, i) => hash === hashes[i])
      if (!isSame || !await use(join(this.#options.cache_dir, description.file))) return undefined
      await use(receipt)
      return description
    } catch {
      return undefined // missing, damaged, or without one of its files
    }
  }

  async #keep (receipt: string, description: CodeDescription): Promise<void> {
    try {
      const hashes = await hashesOf(description.inputs)
      await replaceFile(receipt, JSON.stringify({ ...description, hashes }), { durable: false })
    } catch (error) {
      this.#log.debug({ error: messageOf(error) }, 'the description of a skill could not be kept')
    }
  }

  /** Describes some skills at the same time: each of them has a thread. */
  async #inTurn<Result> (work: () => Promise<Result>): Promise<Result> {
    if (this.#describing >= describingMax) await new Promise<void>(resolve => { this.#waiting.push(resolve) })
    else this.#describing++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#describing--
      else next()
    }
  }

  /** Removes what nobody used for a long time. */
  async #prune (): Promise<void> {
    const { cache_dir } = this.#options
    await mkdir(cache_dir, { recursive: true, mode: 0o700 })
    const before_ms = Date.now() - unusedMax_ms
    for (const name of await readdir(cache_dir)) {
      const path = join(cache_dir, name)
      const stats = await stat(path).catch(() => undefined)
      if (stats?.isFile() === true && stats.mtimeMs < before_ms) await rm(path, { force: true })
    }
  }
}

/** Marks a file as used. @returns whether it exists */
async function use (path: string): Promise<boolean> {
  const now = new Date()
  return await utimes(path, now, now).then(() => true, () => false)
}

async function hashesOf (paths: readonly string[]): Promise<string[]> {
  const hashes: string[] = []
  for (const path of paths) hashes.push(hashOf(await readFile(path)))
  return hashes
}

export function hashOf (data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
