import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, replaceFile, type Logger } from '../../../kernel/index.ts'
import type { CodeDescription, DescribeReply } from '../thread/protocol.ts'
import { describeCode, readDescription, type DescribeOptions } from './describer.ts'

/** Changes whenever the result for the same files changes. */
const recipe = '1'
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

  /** @param env the variables that the code sees while it is described */
  async describe (entry: string, env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<DescribeReply> {
    await (this.#pruned ??= this.#prune())
    const { cache_dir } = this.#options
    const receipt = join(cache_dir, `${hashOf(JSON.stringify([recipe, process.version, entry, env]))}.json`)
    const kept = await this.#kept(receipt)
    if (kept !== undefined) return { description: kept }
    const reply = await this.#inTurn(() => describeCode(entry, env, this.#options, signal))
    if ('description' in reply) await this.#keep(receipt, reply.description)
    return reply
  }

  /** Writes a module that presents built code as a script skill. @returns its absolute path */
  async present (file: string, tools: readonly string[], instance: string): Promise<string> {
    const url = JSON.stringify(`./${file}?of=${encodeURIComponent(instance)}`)
    const code = `import { adapter } from ${url}\nexport default adapter(${JSON.stringify(tools)})\n`
    const path = join(this.#options.cache_dir, `${hashOf(code)}.mjs`)
    if (!await use(path)) await replaceFile(path, code, { durable: false })
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
