import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../contracts/config.ts'
import { outputOf, splitTruncationNote } from '../contracts/output.ts'
import type { Storage } from '../contracts/storage.ts'
import { isAbsent } from '../lib/file.ts'
import type { Logger } from '../lib/log.ts'
import { messageOf } from '../lib/errors.ts'

/** The form of the names of the files: the ids of executions. A record that was imported may have any other id. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** How many characters are encoded and written at a time: a turn of the event loop must stay short. */
const piece_characters = 262_144
/**
 * How old a file is before it can be removed since its execution is not in the history, in milliseconds: the record of
 * a new one may still wait for its commit.
 */
const new_ms = 3_600_000
/** The time between two looks for files without an execution, in milliseconds. */
const every_ms = 600_000
/** After which share of all bytes that may be kept this process counts them again. */
const writtenShare = 1 / 16

/** Where the files are, in the data directory. */
export const outputsDirectory = 'outputs'

/** The part of an output for its record, when the whole is in a file of so many bytes. */
export interface KeptOutput { output: string, bytes: number }

/** The outputs that are too large for a record: each is a file, named by the id of its execution. */
export class OutputFiles {
  readonly #directory: string
  readonly #record_bytes_max: number
  readonly #all_bytes_max: number
  readonly #isOn: boolean
  readonly #storage: Pick<Storage, 'get'>
  readonly #log: Logger
  #written_bytes = 0
  #sweeping: Promise<void> | undefined

  constructor ({ execution, storage: limits }: Config, storage: Pick<Storage, 'get'>, data_dir: string, log: Logger) {
    this.#directory = join(data_dir, outputsDirectory)
    this.#record_bytes_max = execution.output_bytes_max
    this.#all_bytes_max = limits.output_files_bytes_max
    this.#isOn = execution.output_file_bytes_max > execution.output_bytes_max
    this.#storage = storage
    this.#log = log
  }

  /** Whether an output is more than its record keeps. It is called for every execution: most are short. */
  overflows (output: string): boolean {
    return output.length > this.#record_bytes_max / 3 && this.#isOn && this.#isLonger(output)
  }

  #isLonger (output: string): boolean {
    const bytes = Buffer.byteLength(output)
    if (bytes <= this.#record_bytes_max) return false
    return Buffer.byteLength(splitTruncationNote(output).kept) > this.#record_bytes_max
  }

  /**
   * Writes an output to the file of its execution.
   * @returns the part for the record; without the bytes of a file when that could not be written
   */
  async keep (id: string, output: string): Promise<KeptOutput | Pick<KeptOutput, 'output'>> {
    const head = output.slice(0, this.#record_bytes_max) // no more than these can be so many bytes
    try {
      const bytes = await this.#write(id, output)
      this.#written_bytes += bytes
      if (this.#written_bytes > this.#all_bytes_max * writtenShare) void this.sweep()
      const { output: kept } = outputOf(head, this.#record_bytes_max, bytes, `; all of it: execution://${id}/output`)
      return { output: kept, bytes }
    } catch (error) {
      this.#log.warn({ execution_id: id, error: messageOf(error) }, 'a large output could not be written to its file')
      await rm(this.pathOf(id) ?? '', { force: true }).catch(() => {})
      return { output: outputOf(head, this.#record_bytes_max, Buffer.byteLength(output)).output }
    }
  }

  /** The path of the file of an execution; undefined for an id that no file can have. */
  pathOf (id: string): string | undefined {
    return uuid.test(id) ? join(this.#directory, id) : undefined
  }

  async #write (id: string, output: string): Promise<number> {
    const path = this.pathOf(id)
    if (path === undefined) throw new Error('its id is no UUID')
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const file = await open(path, 'w', 0o600)
    try {
      let bytes = 0
      for (let from = 0; from < output.length;) {
        let to = Math.min(output.length, from + piece_characters)
        const last = output.charCodeAt(to - 1)
        if (last >= 0xd800 && last < 0xdc00 && to < output.length) to++ // the two halves of a character
        const piece = Buffer.from(output.slice(from, to))
        await file.writeFile(piece)
        bytes += piece.length
        from = to
      }
      return bytes
    } finally {
      await file.close()
    }
  }

  /** Sweeps now and every few minutes, until the returned function is called. */
  start (): () => Promise<void> {
    const timer = setInterval(() => { void this.sweep() }, every_ms).unref()
    void this.sweep()
    return async () => {
      clearInterval(timer)
      await this.#sweeping
    }
  }

  /** Removes the files of executions that were pruned, and the oldest ones above the limit. Never rejects. */
  sweep (): Promise<void> {
    return this.#sweeping ??= this.#sweep().catch((error: unknown) => {
      this.#log.warn({ error: messageOf(error) }, 'files of large outputs could not be removed')
    }).finally(() => { this.#sweeping = undefined })
  }

  async #sweep (): Promise<void> {
    this.#written_bytes = 0
    const ids = (await readdir(this.#directory).catch(absent)).filter(name => uuid.test(name)).toSorted()
    const files: { path: string, bytes: number }[] = []
    let isPruned = true // the history is pruned from its oldest execution on, and ids are in the order of time
    for (const id of ids) {
      const path = join(this.#directory, id)
      const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: Number.POSITIVE_INFINITY }))
      isPruned = isPruned && mtimeMs < Date.now() - new_ms && await this.#storage.get(id) === undefined
      if (isPruned) await rm(path, { force: true })
      else files.push({ path, bytes: size })
    }
    let all = files.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { path, bytes } of files) {
      if (all <= this.#all_bytes_max) return
      await rm(path, { force: true })
      all -= bytes
    }
  }
}

function absent (error: unknown): string[] {
  if (isAbsent(error)) return []
  throw error
}
