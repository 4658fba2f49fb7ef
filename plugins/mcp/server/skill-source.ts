import { hash } from 'node:crypto'
import type { ServerContext } from '@modelcontextprotocol/server'
import {
  skillEntry, SkillsExtension, type Skill, type SkillReadResult, type SkillSource
} from '@modelcontextprotocol/server/ext/skills'
import { LRUCache } from 'lru-cache'
import {
  listSkillFiles, listSkills, readSkillFile, SkilletError, type Call, type Gateway, type Logger
} from '../../../kernel/index.ts'
import { callOf } from './call.ts'
import { instructionsUri } from './subscriptions.ts'

/** The name of the file with a skill's instructions. */
const instructionsFile = 'SKILL.md'
/** The number of skills in a page; the files of each skill are read once, to compute their digests. */
const pageSize = 50
/** The number of skills whose instructions are listed as resources. */
const listedMax = 1_000
/** The number of bytes of one skill that are read for its entry. */
const bytesMax = 16 * 1_048_576
/** The size of the LRU cache of entries. */
const entriesMax = 10_000

/** Serves the instructions and files of skills as resources, `skill://NAME/SKILL.md`, and by the skills extension. */
export class GatewaySkills implements SkillSource {
  readonly extension: SkillsExtension
  readonly #gateway: Gateway
  /**
   * Entries by skill and by its instructions as the caller sees them: the instructions name only the tools that the
   * caller's rights allow.
   */
  readonly #entries = new LRUCache<string, Promise<Skill>>({ max: entriesMax })

  constructor (gateway: Gateway, log: Logger) {
    this.#gateway = gateway
    this.extension = new SkillsExtension({
      source: this,
      onWarning: ({ path, message }) => { log.debug({ path, message }, 'a skill is not served whole to agents') }
    })
  }

  /** Clears the cache, after the skills were replaced. */
  forget (): void {
    this.#entries.clear()
  }

  async list ({ cursor }: { cursor?: string }, ctx: ServerContext): Promise<{ skills: Skill[], nextCursor?: string }> {
    const call = callOf(ctx)
    const offset = cursor !== undefined && /^\d{1,9}$/.test(cursor) ? Number(cursor) : 0
    const { skills, total } = await this.#gateway.invoke(listSkills, { limit: pageSize, offset }, call)
    const entries: Skill[] = []
    for (const { name } of skills) entries.push(await this.#entry(name, call))
    const next = offset + skills.length
    return { skills: entries, ...(skills.length > 0 && next < total && { nextCursor: String(next) }) }
  }

  async get (uri: string, ctx: ServerContext): Promise<Skill | undefined> {
    const { name, path } = partsOf(uri)
    const call = callOf(ctx)
    return path === instructionsFile ? await orMissing(this.#entry(name, call)) : undefined
  }

  async read (uri: string, ctx: ServerContext): Promise<SkillReadResult | undefined> {
    const { name, path } = partsOf(uri)
    if (path === '') return undefined
    const file = await orMissing(this.#gateway.invoke(readSkillFile, { name, path }, callOf(ctx)))
    if (file === undefined) return undefined
    const mimeType = path.endsWith('.md') ? { mimeType: 'text/markdown' } : {}
    return file.encoding === 'utf-8'
      ? { text: file.content, ...mimeType }
      : { bytes: Buffer.from(file.content, 'base64') }
  }

  async listResources (ctx: ServerContext): ReturnType<NonNullable<SkillSource['listResources']>> {
    const { skills } = await this.#gateway.invoke(listSkills, {}, callOf(ctx))
    return skills.slice(0, listedMax)
      .map(({ name, description }) => ({ uri: instructionsUri(name), name, description, mimeType: 'text/markdown' }))
  }

  /**
   * The entry of a skill. The instructions are read for each caller, which checks the caller's rights; the other files
   * are the same for all callers who may see them.
   */
  async #entry (name: string, call: Call): Promise<Skill> {
    const { content } = await this.#gateway.invoke(readSkillFile, { name }, call)
    const seen = `${name} ${hash('sha256', content, 'base64url')}`
    let entry = this.#entries.get(seen)
    if (entry === undefined) {
      entry = this.#makeEntry(name, content, call)
      this.#entries.set(seen, entry)
      entry.catch(() => { this.#entries.delete(seen) })
    }
    return await entry
  }

  async #makeEntry (name: string, instructions: string, call: Call): Promise<Skill> {
    const { files } = await this.#gateway.invoke(listSkillFiles, { name }, call)
    const contents: Record<string, Uint8Array | string> = { [instructionsFile]: instructions }
    let left = bytesMax
    for (const { path, bytes } of files) {
      if ((left -= bytes) < 0) break
      if (path === instructionsFile) continue
      const { encoding, content } = await this.#gateway.invoke(readSkillFile, { name, path }, call)
      contents[path] = encoding === 'utf-8' ? content : Buffer.from(content, 'base64')
    }
    return await skillEntry(name, contents)
  }
}

function partsOf (uri: string): { name: string, path: string } {
  const [, name = '', path = ''] = /^skill:\/\/([^/]+)\/(.+)$/.exec(uri) ?? []
  try {
    return { name: decodeURIComponent(name), path: decodeURIComponent(path) }
  } catch {
    return { name: '', path: '' }
  }
}

/** Resolves to undefined for a resource that does not exist, or that this caller may not read. */
async function orMissing<T> (promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    if (error instanceof SkilletError && ['missing', 'forbidden', 'invalid'].includes(error.kind)) return undefined
    throw error
  }
}
