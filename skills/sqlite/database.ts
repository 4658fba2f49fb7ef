import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ToolContext } from '../../kernel/skill.ts'
import { Roots } from '../shared/roots.ts'
import type { Request } from './protocol.ts'

const reader = fileURLToPath(new URL('reader.js', import.meta.url))
/** The most that is taken of what the process answers, in characters: a bound for the worst, beyond its own. */
const takenMax = 16_777_216

/** Runs a query on a database file within the roots, in a process of its own. @throws Error saying what is wrong */
export async function ask (
  asked: string,
  query: Omit<Request, 'database'>,
  { config, signal }: ToolContext
): Promise<string> {
  const roots = await Roots.of(config)
  const database = await roots.real(asked)
  // Kept open while it is read, so that nothing else can be given its number.
  const { handle, stats } = await roots.open(database)
  try {
    if (!stats.isFile()) throw new Error(`${asked} is not a regular file`)
    const answer = await runReader({ ...query, database }, signal)
    // SQLite opened it by its path, which somebody may have replaced since it was checked.
    const now = await roots.open(await roots.real(database))
    await now.handle.close()
    if (now.path !== database || now.stats.ino !== stats.ino || now.stats.dev !== stats.dev) {
      throw new Error(`${asked} was replaced while it was read`)
    }
    return answer
  } finally {
    await handle.close()
  }
}

async function runReader (request: Request, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const child =
    spawn(process.execPath, ['--max-old-space-size=256', reader], { cwd: '/', env: process.env, stdio: 'pipe' })
  const end = (): void => { child.kill('SIGKILL') }
  signal.addEventListener('abort', end, { once: true })
  try {
    let output = ''
    let wrong = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => { if ((output += text).length > takenMax) end() })
    child.stderr.setEncoding('utf8').on('data', (text: string) => { if (wrong.length < takenMax) wrong += text })
    child.stdin.on('error', () => {}) // it ended before it read
    child.stdin.end(JSON.stringify(request))
    const { code, signal: by } =
      await new Promise<{ code: number | null, signal: NodeJS.Signals | null }>((resolve, reject) => {
        child.on('error', reject).on('close', (code, signal) => { resolve({ code, signal }) })
      })
    signal.throwIfAborted()
    if (code === 0) return output
    throw new Error(by === null
      ? wrong.trim() || `the process that reads the database ended with ${code}`
      : `the process that reads the database was ended (${by}): the query needs too much memory or time`)
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}
