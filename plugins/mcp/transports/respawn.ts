import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import type { Duplex } from 'node:stream'

/**
 * Standard input and output are the protocol's alone, and whatever a tool prints must not get there, by whatever way.
 * Threads share the descriptors of their process, and Node can't move one. So the process that the client starts only
 * starts another, which speaks over a socket behind the descriptors that programs count on: Node marks those up to 15
 * as its own when it starts, so that no command inherits them, and a socket can't be opened a second time by way of
 * /proc. What the client gave is held by the relay (relay.c), whose descriptors nobody can open who is not root; where
 * that could not be compiled, by the process that the client started.
 */
const protocolFd = 15
/** Ends when the parent does, should it be killed. */
const lifelineFd = 14
/** A variable of no section of the settings: those are refused where they are none. */
const mark = 'SKILLET_PROTOCOL_PROCESS'
/** Where the relay has its end of the socket. */
const relayFd = 3
/** How long what was said last may take to reach the client, and the relay to show that it runs, in milliseconds. */
const times_ms = { flush: 2_000, check: 5_000 }

/** Whether this is the process that speaks with the client. */
export function isProtocolProcess (): boolean {
  return process.env[mark] !== undefined
}

/** Runs the same command again, with a socket in place of standard input and output. @returns its exit status */
export async function respawn (): Promise<number> {
  const terminal = isatty(0)
  const relay = startRelay()
  const stdio = Object.assign(Array.from({ length: protocolFd + 1 }, (): 'ignore' | 'pipe' | number | Socket => 'ignore'), { 1: 2, 2: 2, [lifelineFd]: 'pipe', [protocolFd]: relay?.socket ?? 'pipe' })
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, [mark]: '1' },
    stdio
  })
  relay?.socket.destroy() // the child has it
  const flushed = relay === undefined ? passOn(child) : ended(relay.process)
  const end = (): void => { child.kill('SIGTERM') }
  process.on('SIGTERM', end).on('SIGHUP', end)
  process.on('SIGINT', () => { if (!terminal) end() }) // a terminal tells the child itself
  const status = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => { resolve(code ?? (signal === null ? 1 : 128)) })
  })
  const late = setTimeout(() => {
    relay?.process.kill('SIGKILL')
    process.exit(status) // the client takes nothing
  }, times_ms.flush)
  await flushed
  clearTimeout(late)
  return status
}

/**
 * Starts the relay and lets go of what the client gave, which is its own from then on.
 * @returns it, with the end of its socket; undefined where it can't be had
 */
function startRelay (): { process: ChildProcess, socket: Socket } | undefined {
  const file = fileURLToPath(new URL(`./relay-${process.platform}-${process.arch}`, import.meta.url))
  try {
    accessSync(file, constants.X_OK)
  } catch {
    return undefined // the build found no compiler
  }
  if (spawnSync(file, ['--check'], { env: {}, stdio: 'ignore', timeout: times_ms.check }).status !== 0) return undefined
  const relay = spawn(file, { cwd: '/', env: {}, stdio: [0, 1, 2, 'pipe'] })
  relay.on('error', () => {}) // tells nothing that the absence of a pid does not
  const socket = relay.stdio[relayFd]
  if (relay.pid === undefined || !(socket instanceof Socket)) return undefined
  socket.pause()
  for (const [descriptor, flags] of [[0, 'r'], [1, 'w']] as const) {
    closeSync(descriptor)
    openSync('/dev/null', flags) // the lowest number that is free
  }
  return { process: relay, socket }
}

/** Passes on what client and child say to each other. Resolves when all that the child said is written. */
async function passOn ({ stdio }: ChildProcess): Promise<void> {
  const channel = stdio.at(protocolFd)
  if (!(channel instanceof Socket)) return
  process.stdin.on('error', () => {}).pipe(channel)
  channel.on('error', () => {})
  process.stdout.on('error', () => { channel.destroy() }) // nobody reads any more
  await new Promise<void>(resolve => {
    channel.on('data', (chunk: Buffer) => {
      if (process.stdout.write(chunk)) return
      channel.pause()
      process.stdout.once('drain', () => { channel.resume() })
    })
    channel.once('close', () => { process.stdout.write('', () => { resolve() }) })
  })
  process.stdin.destroy()
}

async function ended (child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise(resolve => { child.once('exit', resolve) })
}

/** What the client says and reads, and the parent's end. */
export function openProtocol (parentEnded: () => void): Duplex {
  delete process.env[mark] // what tools start is not this process
  const lifeline = new Socket({ fd: lifelineFd, readable: true, writable: false })
  lifeline.on('end', parentEnded).on('error', parentEnded).resume().unref()
  return new Socket({ fd: protocolFd, readable: true, writable: true, allowHalfOpen: true })
}
