import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { createWriteStream } from 'node:fs'
import { isatty } from 'node:tty'
import type { Writable } from 'node:stream'

/**
 * Standard output is the protocol's alone, and whatever a tool prints must not get there, by whatever way. Threads share
 * the descriptors of their process, and Node can't move one. So the process that the client starts only starts another:
 * in that one, descriptor 1 is standard error, and one behind those that programs count on is what the client reads. Node
 * marks those up to 15 as its own when it starts, so that no command inherits them. A script that looks for it can
 * still write there: it shares the process.
 */
const protocolFd = 15
/** Ends when the parent does, should it be killed. */
const lifelineFd = 14
const stdio = Object.assign(Array.from({ length: protocolFd + 1 }, (): 'ignore' | 'pipe' | number => 'ignore'), { 0: 0, 1: 2, 2: 2, [lifelineFd]: 'pipe', [protocolFd]: 1 })
/** A variable of no section of the settings: those are refused where they are none. */
const mark = 'SKILLET_PROTOCOL_PROCESS'

/** Whether this is the process that speaks with the client. */
export function isProtocolProcess (): boolean {
  return process.env[mark] !== undefined
}

/** Runs the same command again, with its output moved. @returns its exit status */
export async function respawn (): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, [mark]: '1' },
    stdio
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
