import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import { Readable, Writable } from 'node:stream'
import { messageOf, within } from '../../../kernel/index.ts'
import { proxyPort, servePassedSocket } from '../../toolkit/network/passed-socket.ts'
import type { WayOut } from '../../toolkit/network/way-out.ts'
import {
  excesses, firstMessage, sandboxArguments, type ConfinedCommand
} from '../../toolkit/sandbox/confined-program.ts'
import { excessOf, type Excess } from '../../toolkit/sandbox/limits.ts'
import { ServerFault } from '../server-fault.ts'
import { grace_ms, type Exit, type ServerProcess } from './server-process.ts'

/** program.c: the program ended by this signal and more. */
const bySignal = 128
/** Any byte on the channel asks the program to end. */
const askToEnd = Buffer.from([1])
/** program.c: the descriptor by which it passes the socket of the proxy. */
const proxyChannel = 5

/** What is started, and how. */
export interface ConfinedStart {
  /** The program in C that enters the sandbox. */
  file: string
  command: ConfinedCommand
  /** Opens the way to what its skill lists as the network; undefined where it lists nothing. */
  openWayOut: (() => WayOut) | undefined
}

/** What a program in the sandbox has open: its own streams, and two for program.c alone. */
interface Pipes { stdin: Writable, stdout: Readable, stderr: Readable, channel: Socket, control: Socket }

/** The way to what a server may reach. */
interface Way {
  /** Why it could not be opened, for which the server is ended. */
  fault: string | undefined
  /** A run begins while no other one runs. */
  begin (): void
  close (): void
}

/**
 * Starts a server in a sandbox of its own. Whatever it starts ends with it, and it ends when Skillet does.
 * @throws ServerFault when the system has no room for it
 */
export async function startConfined ({ file, command, openWayOut }: ConfinedStart): Promise<ServerProcess> {
  const wayOut = openWayOut?.()
  const given = wayOut === undefined ? command : { ...command, env: { ...command.env, ...wayOut.variables } }
  const child = spawnConfined(file, given, wayOut)
  const way = wayOut && openedWay(child, wayOut)
  const ended = once(child, 'exit')
  ended.catch(() => {}) // what could not be started is found next
  let pipes: Pipes
  try {
    await once(child, 'spawn')
    pipes = pipesOf(child)
  } catch (error) {
    way?.close()
    throw new ServerFault(`its sandbox could not be started: ${messageOf(error)}`, { cause: error })
  }
  child.on('error', () => {}) // a signal that could not be sent; the process ends all the same
  const excess = excessOn(pipes.control)
  pipes.channel.write(firstMessage(given))
  const exited = Promise.all([ended, excess]).then(([[code, signal], used]) => {
    way?.close()
    const what = used === undefined ? way?.fault : excessOf(used, command.limits)
    return exitOf(code as number | null, signal as NodeJS.Signals | null, what) // as the types of Node have it
  })
  return serverOf(child, pipes, exited, { command, way })
}

function spawnConfined (file: string, command: ConfinedCommand, wayOut: WayOut | undefined): ChildProcess {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'] as const
  const args = [...sandboxArguments(command), '--streams', 'kept']
  const proxied = ['--proxy', String(proxyPort), '--proxy-channel', String(proxyChannel)]
  const options = { cwd: '/', env: {}, detached: true }
  return wayOut === undefined
    ? spawn(file, args, { ...options, stdio: [...stdio] })
    : spawn(file, [...args, ...proxied], { ...options, stdio: [...stdio, 'ipc'] })
}

function openedWay (child: ChildProcess, wayOut: WayOut): Way {
  const stopServing = servePassedSocket(child, wayOut.takeSocket, error => {
    way.fault = `was ended, since the way to what it may reach could not be opened: ${messageOf(error)}`
    child.kill('SIGKILL')
  })
  const way: Way = {
    fault: undefined,
    begin: () => { wayOut.begin() },
    close () {
      stopServing()
      wayOut.end()
    }
  }
  return way
}

function serverOf (
  child: ChildProcess, { stdin, stdout, stderr, channel, control }: Pipes, exited: Promise<Exit>,
  { command: { limits }, way }: { command: ConfinedCommand, way: Way | undefined }
): ServerProcess {
  const countsTime = limits !== undefined && limits.cpu_ms_max > 0
  const end = async (): Promise<void> => {
    stdin.end()
    if (!await within(grace_ms.stdin, exited)) channel.write(askToEnd)
    if (!await within(grace_ms.signal, exited)) child.kill('SIGKILL')
    await exited
  }
  let ending: Promise<void> | undefined
  return {
    pid: child.pid ?? 0, stdin, stdout, stderr, exited,
    begin (alone) {
      if (alone) way?.begin()
      if (countsTime && control.writable) control.write(alone ? 'b' : 'a')
    },
    end: () => ending ??= end()
  }
}

/** @throws Error when the system had no room for them */
function pipesOf (child: ChildProcess): Pipes {
  // Node leaves out `stdio`, against its types, when it had no file descriptor for the pipes.
  const stdio: unknown = child.stdio
  const [stdin, stdout, stderr, channel, control]: unknown[] = Array.isArray(stdio) ? stdio : []
  if (!(stdin instanceof Writable && stdout instanceof Readable && stderr instanceof Readable
    && channel instanceof Socket && control instanceof Socket)) throw new Error('the system has no room for its pipes')
  channel.on('error', () => {}) // the process has ended, as `exited` says
  return { stdin, stdout, stderr, channel, control }
}

/** Resolves when the program has ended, with what it used too much of. */
async function excessOn (control: Socket): Promise<Excess | undefined> {
  let excess: Excess | undefined
  control.on('data', (bytes: Buffer) => { excess ??= excesses[bytes.toString('latin1', 0, 1)] })
  control.on('error', () => {})
  await new Promise(resolve => { control.once('close', resolve) })
  return excess
}

/** How the program inside ended. @param what for what it was ended */
function exitOf (code: number | null, signal: NodeJS.Signals | null, what: string | undefined): Exit {
  const reason = what === undefined ? {} : { what }
  if (code === null || code <= bySignal) return { code, signal, ...reason }
  const [name] = Object.entries(constants.signals).find(([, number]) => number === code - bySignal) ?? ['SIGKILL']
  return { code: null, signal: name as NodeJS.Signals, ...reason } // the names in this table
}
