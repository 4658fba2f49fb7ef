// Runs files of tests, some at a time, each as a plain process of Node that writes TAP. The runner of tap would give
// each of them, and every process that they start, a loader that takes half a second of the processor.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** How long a file may take, in seconds, until tap says what it waits for; and until it is ended, in milliseconds. */
const timeout_s = 300
const end_ms = (timeout_s + 30) * 1000

/**
 * Runs the files in their order.
 * @param files paths of built tests
 * @param together how many run at the same time
 * @param env further variables of the tests
 * @returns the lines of all files, as one TAP document: those of a file stand together, and after them its result
 */
export async function * runFiles (files, together, env = {}) {
  const left = files.map((file, i) => ({ file, number: i + 1 }))
  const running = new Map()
  const begin = () => {
    const next = left.shift()
    if (next !== undefined) running.set(next.number, runFile(next.file, next.number, env))
  }
  yield 'TAP version 14'
  for (let i = 0; i < together; i++) begin()
  while (running.size > 0) {
    const { number, lines } = await Promise.race(running.values())
    running.delete(number)
    begin()
    yield * lines
  }
  yield `1..${files.length}`
}

/** @returns the lines of a file, indented, and its result */
async function runFile (file, number, env) {
  const began_ms = performance.now()
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TAP: '1', TAP_TIMEOUT: `${timeout_s}`, ...env }
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill('SIGKILL')
    child.stdout.destroy() // processes that it left may hold it
  }, end_ms)
  const ended = once(child, 'close')
  const lines = []
  for await (const line of createInterface({ input: child.stdout })) lines.push(`    ${line}`)
  const [code, signal] = await ended
  clearTimeout(timer)
  const time = `# time=${(performance.now() - began_ms).toFixed(0)}ms`
  const name = `${number} - ${file}`
  if (code === 0) return { number, lines: [...lines, `ok ${name} ${time}`] }
  const why = late ? `ended after ${end_ms / 1000} s` : `ended by ${signal ?? `code ${code}`}`
  return { number, lines: [...lines, `not ok ${name} ${time}`, '  ---', `  reason: ${why}`, '  ...'] }
}
