import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What is asked of the process that selects. */
export interface Selecting { text: string, grep?: string, jmespath?: string }
/** What it answers: the text, or why there is none. */
export type Selection = { text: string } | { failure: string }

/** How long a selection may take, and how much memory, in milliseconds and mebibytes. */
const limits = { time_ms: 10_000, heapMiB: 96 }
/** The longest selection that is kept, in characters: an expression can make more out of little. */
export const selectedMax = 2_097_152
/** Selections that run at once; others wait. */
const atOnceMax = 2
/** Selections that may wait. */
const waitingMax = 1_000

let running = 0
const waiting: (() => void)[] = []

/**
 * Applies an expression and a pattern of a caller's to a text, in a process of its own: both can be made to take any time
 * and memory, so that neither belongs on the main thread.
 */
export async function select (asked: Selecting): Promise<Selection> {
  if (running >= atOnceMax) {
    if (waiting.length >= waitingMax) return { failure: 'nothing was selected: too many selections are waiting' }
    await new Promise<void>(resolve => { waiting.push(resolve) })
  } else running++
  try {
    return await runProcess(asked)
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

function runProcess (asked: Selecting): Promise<Selection> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [`--max-old-space-size=${limits.heapMiB}`, fileURLToPath(new URL('select-process.js', import.meta.url))], { env: {}, stdio: ['pipe', 'pipe', 'ignore'], timeout: limits.time_ms, killSignal: 'SIGKILL' })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    child.stdin.on('error', () => {}) // it ended first; told below
    child.once('error', error => { resolve({ failure: `nothing was selected: ${error.message}` }) })
    child.once('close', (status, signal) => {
      if (status === 0) resolve(JSON.parse(Buffer.concat(chunks).toString()) as Selection) // our own program wrote it
      else resolve({ failure: `nothing was selected: ${signal === 'SIGKILL' ? `it took longer than ${limits.time_ms} ms` : `it took more than ${limits.heapMiB} MiB of memory`}` })
    })
    child.stdin.end(JSON.stringify(asked))
  })
}
