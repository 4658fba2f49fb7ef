import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import type { Duplex } from 'node:stream'

/**
 * Standard input and output are only for the protocol, and no output of a tool may get there in any way. Threads share
 * the descriptors of their process, and Node can't move a descriptor. So the process that the client starts only starts
 * another process, which uses a socket behind the descriptors that programs expect. Node marks descriptors up to 15 as
 * its own when it starts, so that no command inherits them, and a socket can't be opened a second time by way of /proc.
 * The client's descriptors are held by the relay (relay.c), whose descriptors only root can open; where the relay could
 * not be compiled, by the process that the client started.
 */
const protocolFd = 15
/** The descriptor of a pipe that closes when the parent ends, even when the parent is killed. */
const lifelineFd = 14
/** A variable without a section of the settings, since unknown variables of a section are refused. */
const mark = 'SKILLET_PROTOCOL_PROCESS'
/** The descriptor of the relay's end of the socket. */
const relayFd = 3
/**
 * How long the last output may take to reach the client, and how long the relay may take to show that it runs, in
 * milliseconds.
 */
const times_ms = { flush: 2_000, check: 5_000 }

/** Whether this process speaks the protocol with the client. */
export function isProtocolProcess (): boolean {
  return process.env[mark] !== undefined
}

/**
 * Runs the same command again, with a socket in place of standard input and output.
 * @returns its exit status
 */
export async function respawn (): Promise<number> {
  const terminal = isatty(0)
  const relay = startRelay()
  const stdio = Object.assign(
    Array.from({ length: protocolFd + 1 }, (): 'ignore' | 'pipe' | number | Socket => 'ignore'),
    { 1: 2, 2: 2, [lifelineFd]: 'pipe', [protocolFd]: relay?.socket ?? 'pipe' }
  )
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, [mark]: '1' },
    stdio
  })
  relay?.socket.destroy() // the child has inherited it
  const flushed = relay === undefined ? passOn(child) : ended(relay.process)
  const end = (): void => { child.kill('SIGTERM') }
  process.on('SIGTERM', end).on('SIGHUP', end)
  process.on('SIGINT', () => { if (!terminal) end() }) // a terminal sends the signal to the child itself
  const status = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => { resolve(code ?? (signal === null ? 1 : 128)) })
  })
  const late = setTimeout(() => {
    relay?.process.kill('SIGKILL')
    process.exit(status) // the client does not read
  }, times_ms.flush)
  await flushed
  clearTimeout(late)
  return status
}

/**
 * Starts the relay and closes this process's descriptors of the client, which only the relay holds from then on.
 * @returns the relay and its socket; undefined where it can't be started
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
  relay.on('error', () => {}) // the missing pid already shows the failure
  const socket = relay.stdio[relayFd]
  if (relay.pid === undefined || !(socket instanceof Socket)) return undefined
  socket.pause()
  for (const [descriptor, flags] of [[0, 'r'], [1, 'w']] as const) {
    closeSync(descriptor)
    openSync('/dev/null', flags) // uses the lowest free descriptor
  }
  return { process: relay, socket }
}

/** Passes messages between client and child in both directions. Resolves when all output of the child is written. */
async function passOn ({ stdio }: ChildProcess): Promise<void> {
  const channel = stdio.at(protocolFd)
  if (!(channel instanceof Socket)) return
  process.stdin.on('error', () => {}).pipe(channel)
  channel.on('error', () => {})
  process.stdout.on('error', () => { channel.destroy() }) // the client does not read any more
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
  if (child.exitCode === null && child.signalCode === null) {
    await new Promise(resolve => { child.once('exit', resolve) })
  }
}

/** Opens the socket to the client, and watches for the end of the parent. */
export function openProtocol (parentEnded: () => void): Duplex {
  delete process.env[mark] // processes that tools start do not speak the protocol
  const lifeline = new Socket({ fd: lifelineFd, readable: true, writable: false })
  lifeline.on('end', parentEnded).on('error', parentEnded).resume().unref()
  return new Socket({ fd: protocolFd, readable: true, writable: true, allowHalfOpen: true })
}
