import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { createWriteStream } from 'node:fs'
import { isatty } from 'node:tty'
import type { Writable } from 'node:stream'

/**
 * Standard output is the protocol's alone, and whatever a tool prints must not get there, by whatever way. Threads share
 * the descriptors of their process, and Node can't move one. So the process that the client starts only starts another:
 * in that one, descriptor 1 is standard error, and 3 is what the client reads.
 */
const protocolFd = 3
/** Ends when the parent does, should it be killed. */
const lifelineFd = 4
const mark = 'SKILLET_MCP_CHILD'

/** Whether this is the process that speaks with the client. */
export function isProtocolProcess (): boolean {
  return process.env[mark] !== undefined
}

/** Runs the same command again, with its output moved. @returns its exit status */
export async function respawn (): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, [mark]: '1' },
    stdio: [0, 2, 2, 1, 'pipe']
  })
  const end = (): void => { child.kill('SIGTERM') }
  process.on('SIGTERM', end).on('SIGHUP', end)
  process.on('SIGINT', () => { if (!isatty(0)) end() }) // a terminal tells the child itself
  return await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => { resolve(code ?? (signal === null ? 1 : 128)) })
  })
}

/** What the client reads, and the parent's end. */
export function openProtocol (parentEnded: () => void): Writable {
  delete process.env[mark] // what tools start is not this process
  const lifeline = new Socket({ fd: lifelineFd, readable: true, writable: false })
  lifeline.on('end', parentEnded).on('error', parentEnded).resume().unref()
  try {
    return new Socket({ fd: protocolFd, readable: false, writable: true })
  } catch {
    return createWriteStream('', { fd: protocolFd, autoClose: false }) // a file, or a terminal
  }
}
