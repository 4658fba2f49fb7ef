import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isAbsent, isAlive, messageOf, thisProcess, type Logger, type ProcessIdentity } from '../../../kernel/index.ts'
import { checkFile, damaged } from '../check-file.ts'
import type { Meta } from '../file/layout.ts'
import { isNoRoom } from '../no-room.ts'
import { DamagedFile, runTask } from './child.ts'

/**
 * What stands beside the file of the history: `-open-PID-N-START`, for each process that has it open;
 * `-moved-PID-N-START`, for a process that puts another file in its place; and `-closed`, which says in which state the
 * last process left it.
 */
const marks = { open: '-open', moved: '-moved', closed: '-closed' } as const
type Mark = 'open' | 'moved'

/** How long a start waits for the whole file to be read, in milliseconds: half of the time that it has. */
const startCheck_ms = 30_000

/** A process that has left a mark; the path is the mark's. */
interface Marked { path: string, owner: ProcessIdentity }

/**
 * The use of a file by this process. `begin` makes sure that LMDB can open the file: where the last process that had it
 * open did not close it, or another program has changed it since, the whole file is read by a process of its own first.
 * Marks are read and written synchronously: they are small, and nobody is served yet.
 */
export class Session {
  readonly #file: string
  readonly #mark: string | undefined

  private constructor (file: string, mark: string | undefined) {
    this.#file = file
    this.#mark = mark
  }

  /**
   * @param check_ms how long reading the whole file may delay the start, in milliseconds; then it starts unchecked
   * @throws Error when the file is damaged, or is being replaced; it names the file and the remedy
   */
  static async begin (file: string, log: Logger, signal: AbortSignal, check_ms = startCheck_ms): Promise<Session> {
    const meta = await checkFile(file)
    const opened = marked(file, 'open')
    const dead = opened.filter(({ owner }) => !isAlive(owner))
    // A process that has the file open has made sure of it.
    const isUsed = dead.length < opened.length
    if (!isUsed && (dead.length > 0 || !isAsLeft(file, meta))) await checkWithin(check_ms, file, log, signal)
    for (const { path } of dead) rmSync(path, { force: true })
    const session = new Session(file, leaveOpenMark(file, log))
    const mover = marked(file, 'moved').find(({ owner }) => isAlive(owner))
    if (mover === undefined) return session
    session.end()
    const doing = `is putting another history in the place of ${file}`
    throw new Error(`process ${mover.owner.pid} ${doing}; try again when it has ended`)
  }

  /** Notes in which state the file is left. To be called when LMDB has closed it in order. */
  async closed (): Promise<void> {
    if (this.#mark !== undefined) await noteState(this.#file, this.#mark)
  }

  end (): void {
    if (this.#mark !== undefined) rmSync(this.#mark, { force: true })
  }
}

/**
 * Reads the whole file, as far as the time allows: a very large history must not keep the server from starting, and a
 * process that was killed does not damage it.
 * @throws Error when damage was found
 */
async function checkWithin (check_ms: number, file: string, log: Logger, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(check_ms)
  try {
    await checkContent(file, log, AbortSignal.any([signal, limit]))
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error
    const text = 'the history was not closed in order, and takes too long to check; `skillet doctor --repair` checks it'
    log.warn({ file, check_ms }, text)
  }
}

/**
 * Reads the whole file in a process of its own.
 * @throws Error when it is damaged
 */
export async function checkContent (file: string, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    const began_ms = performance.now()
    const { executions } = await runTask('check', [file], signal)
    const time_ms = Math.round(performance.now() - began_ms)
    const text = 'the history was not closed in order, or was changed; it was checked, and is sound'
    log.info({ file, executions, time_ms }, text)
  } catch (error) {
    throw error instanceof DamagedFile ? damaged(file, error.message) : error
  }
}

/**
 * Notes that the whole file was found to be sound, so that the next process need not read it. Within `exclusively`.
 */
export async function noteSound (file: string): Promise<void> {
  for (const { path } of marked(file, 'open')) rmSync(path, { force: true })
  await noteState(file, file + marks.closed)
}

/** @param beside the beginning of the path of a temporary file */
async function noteState (file: string, beside: string): Promise<void> {
  const state = stateOf(file, await checkFile(file))
  if (state === undefined) return
  try {
    const path = `${beside}.tmp`
    writeFileSync(path, state, { mode: 0o600 })
    renameSync(path, file + marks.closed)
  } catch {} // without it, the next process reads the whole file
}

/**
 * Lets nobody open the file while `work` replaces it.
 * @throws Error when a process has the file open
 */
export async function exclusively<T> (file: string, work: () => Promise<T>): Promise<T> {
  const mark = leaveMark(file, 'moved')
  try {
    const all = [...marked(file, 'open'), ...marked(file, 'moved')]
    const user = all.find(({ path, owner }) => path !== mark && isAlive(owner))
    if (user !== undefined) {
      const remedy = 'stop it first (skillet doctor says whether it is a server)'
      throw new Error(`process ${user.owner.pid} uses ${file}; ${remedy}`)
    }
    return await work()
  } finally {
    rmSync(mark, { force: true })
  }
}

/** Whether the file is as the last process that closed it has left it, or is new. */
function isAsLeft (file: string, meta: Meta | undefined): boolean {
  const state = stateOf(file, meta)
  if (state === undefined) return true
  try {
    return readFileSync(file + marks.closed, 'utf8') === state
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/**
 * What changes whenever the file is written to: the last transaction, whose number is on disk before a commit ends, and
 * size and time, which other programs change too. Undefined when there is no file, or it is empty.
 */
function stateOf (file: string, meta: Meta | undefined): string | undefined {
  if (meta === undefined) return undefined
  const { ino, size, mtimeNs } = statSync(file, { bigint: true })
  const numbers = { transaction: meta.transaction, inode: ino, bytes: size, modified_ns: mtimeNs }
  return JSON.stringify(numbers, (_name, value: unknown) => typeof value === 'bigint' ? String(value) : value)
}

/**
 * Leaves the mark of a process that uses the file. Where the disk has no room for it, the file can be read all the
 * same.
 */
function leaveOpenMark (file: string, log: Logger): string | undefined {
  try {
    return leaveMark(file, 'open')
  } catch (error) {
    if (!isNoRoom(error)) throw error
    log.warn({ file, error: messageOf(error) }, 'the disk is full: that the history is open could not be noted')
    return undefined
  }
}

let marksLeft = 0

/** Leaves a mark of this process. @returns its path */
function leaveMark (file: string, mark: Mark): string {
  const { pid, started } = thisProcess()
  const path = `${file}${marks[mark]}-${pid}-${++marksLeft}-${encodeURIComponent(started)}`
  writeFileSync(path, '', { mode: 0o600 })
  return path
}

function marked (file: string, mark: Mark): Marked[] {
  const folder = dirname(file)
  const beginning = `${basename(file)}${marks[mark]}-`
  return readdirSync(folder).filter(name => name.startsWith(beginning)).flatMap(name => {
    const [, pid, started] = /^(\d+)-\d+-([^.]+)$/.exec(name.slice(beginning.length)) ?? []
    if (pid === undefined || started === undefined) return []
    return [{ path: join(folder, name), owner: { pid: Number(pid), started: decodeURIComponent(started) } }]
  })
}
