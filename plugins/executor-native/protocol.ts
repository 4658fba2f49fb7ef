import { constants } from 'node:os'
import { limitNumbers, type Limits } from '../toolkit/sandbox/limits.ts'
import type { AllowedPath } from '../toolkit/sandbox/rules.ts'

/**
 * The protocol between the server and a helper process, over one pipe. helper.c implements it too, so a message
 * consists of 32-bit little-endian numbers and then text, which are simple to read in C. Each message may carry a
 * payload of raw bytes, so that a tool's input and output are never escaped, nor strings in a helper's heap.
 *
 * | message | numbers | text |
 * |---|---|---|
 * | run | 1, id, has stdin, live, output_bytes_max, output_bytes_stop, arguments, variables, rules | the texts below |
 * | stop | 2, id | |
 * | keep_rules | 3, id, MiB, processes, paths | the paths, `r` or `w` before each, and a NUL at its end |
 * | forget_rules | 4, id | |
 * | started | 1, id, pid | |
 * | refused | 2, id, index in `refusals` | system_code |
 * | output | 4, id, 1 for standard output or 2 for standard error | |
 * | ended | 3, id, exit code or -1, signal's number or 0, index in `excesses`, stdout_bytes (low, high half) | stderr |
 *
 * The texts of `run` are: cwd, program, arguments, variables (`NAME=value`), each with a NUL at its end. `arguments`,
 * `variables` and `paths` among the numbers are counts.
 */

/** Variables by name. An environment must not be changed after it was sent, since its text is cached. */
export type Environment = Readonly<Record<string, string>>

/** Starts a command. The payload is its standard input, where `stdin` says that it has one. */
export interface RunMessage {
  type: 'run'
  /** Chosen by the server, of 32 bits; identifies the run in all other messages. */
  id: number
  /** A name to look up in the environment's PATH, or an absolute path. */
  program: string
  /** No string of a message contains a NUL. */
  args: string[]
  /** An absolute path. */
  cwd: string
  /** The whole environment. */
  env: Environment
  stdin: boolean
  /** Whether what the command writes is also sent while it runs, by `output` messages. */
  live: boolean
  /** The bytes of standard output that are kept. */
  output_bytes_max: number
  /** The bytes of standard output and standard error together above which the command is stopped. */
  output_bytes_stop: number
  /** The id of the rules that confine the command; 0 in a helper without a sandbox. */
  rules: number
}

export type ToHelper =
  | RunMessage
  /** What commands with these rules may use. For helpers with a sandbox; there is no answer. */
  | { type: 'keep_rules', id: number, paths: readonly AllowedPath[], limits: Limits }
  | { type: 'forget_rules', id: number }
  /** Ends a run: SIGTERM to its process group, later SIGKILL. The answer is `ended`; unknown ids are ignored. */
  | { type: 'stop', id: number }

/** Why a command could not be started. The index of a refusal is its number in the protocol. */
export const refusals = [
  /** The working directory is missing, is not a directory, or is not accessible to the server. */
  'directory',
  /** The program does not exist. */
  'missing',
  /** The program is a script whose interpreter is missing. */
  'interpreter',
  /** The program exists and can't be executed. */
  'not_executable',
  /** The arguments and the environment are longer than the system allows. */
  'too_long',
  /** The system has no processes, descriptors or memory left. */
  'resources'
] as const
export type Refusal = typeof refusals[number]

/** What a command used too much of, so that it was ended. The index is its number in the protocol. */
export const excesses = [null, 'output', 'memory', 'processes', 'cpu'] as const

/** The end of a run. The payload is the kept part of its standard output. */
export interface EndedMessage {
  type: 'ended'
  id: number
  /** Null when a signal with a name ended the command. */
  exit_code: number | null
  signal: NodeJS.Signals | null
  /** The total bytes of standard output. */
  stdout_bytes: number
  /** Why the helper ended it: its output exceeded `output_bytes_stop`, or its use the limits of its rules. */
  exceeded: typeof excesses[number]
  /** The end of standard error. */
  stderr: string
}

/** The streams of a command. The index is its number in the protocol, where 0 is no stream. */
export const outputStreams = [undefined, 'stdout', 'stderr'] as const
export type OutputStream = NonNullable<typeof outputStreams[number]>

export type FromHelper =
  | { type: 'started', id: number, pid: number }
  /**
   * The payload is the next piece of what the command writes, of each stream at most `output_bytes_max` bytes; sent for
   * runs that are `live`.
   */
  | { type: 'output', id: number, stream: OutputStream }
  | { type: 'refused', id: number, why: Refusal, system_code: string }
  | EndedMessage

/** Two lengths, of the message and of the payload: 32 bits each, little endian. */
export const prefixBytes = 8

/** The limit of the helper's messages: the longest one contains the end of standard error. */
const fromBytesMax = 65_536
/** The largest numbers that Linux gives processes and signals. */
const pidMax = 2 ** 22
const signalMax = 64

const empty = Buffer.alloc(0)
/** Where two names have the same number, the first name is the usual one. */
const signalNames = new Map(
  Object.entries(constants.signals).toReversed().map(([name, number]) => [number, name as NodeJS.Signals])
)
const halfway = 2 ** 32

/** The bytes of a message and its payload. */
export function encode (message: ToHelper | FromHelper, payload: Uint8Array = empty): Buffer {
  switch (message.type) {
    case 'run': {
      const { id, stdin, live, output_bytes_max, output_bytes_stop, cwd, program, args, env, rules } = message
      const { count, text } = variablesOf(env)
      const numbers =
        [1, id, stdin ? 1 : 0, live ? 1 : 0, output_bytes_max, output_bytes_stop, args.length, count, rules]
      return frame(numbers, `${[cwd, program, ...args].join('\0')}\0${text}`, payload)
    }
    case 'stop': return frame([2, message.id], '', payload)
    case 'keep_rules': {
      const text = message.paths.map(({ path, access }) => `${access === 'read' ? 'r' : 'w'}${path}\0`).join('')
      return frame([3, message.id, ...limitNumbers(message.limits), message.paths.length], text, payload)
    }
    case 'forget_rules': return frame([4, message.id], '', payload)
    case 'started': return frame([1, message.id, message.pid], '', payload)
    case 'output': return frame([4, message.id, outputStreams.indexOf(message.stream)], '', payload)
    case 'refused': return frame([2, message.id, refusals.indexOf(message.why)], message.system_code, payload)
    case 'ended': {
      const { id, exit_code, signal, exceeded, stdout_bytes, stderr } = message
      const how = [exit_code ?? -1, signal === null ? 0 : constants.signals[signal], excesses.indexOf(exceeded)]
      return frame([3, id, ...how, stdout_bytes % halfway, Math.floor(stdout_bytes / halfway)], stderr, payload)
    }
  }
}

/** Environments as text, cached while they are in use: most commands of a skill have the same environment. */
const knownVariables = new WeakMap<Environment, { count: number, text: string }>()

function variablesOf (env: Environment): { count: number, text: string } {
  const cached = knownVariables.get(env)
  if (cached !== undefined) return cached
  const variables = Object.entries(env)
  const made = { count: variables.length, text: variables.map(([name, value]) => `${name}=${value}\0`).join('') }
  knownVariables.set(env, made)
  return made
}

function frame (numbers: readonly number[], text: string, payload: Uint8Array): Buffer {
  const bytes = 4 * numbers.length + Buffer.byteLength(text)
  const whole = Buffer.allocUnsafe(prefixBytes + bytes + payload.length)
  let at = whole.writeUInt32LE(bytes, 0)
  at = whole.writeUInt32LE(payload.length, at)
  for (const number of numbers) at = whole.writeInt32LE(number | 0, at)
  whole.write(text, at, 'utf8')
  whole.set(payload, prefixBytes + bytes)
  return whole
}

/**
 * Reads a message of the server. Only the helper in C has a sandbox, and rules for it.
 * @throws Error when the bytes are not a message
 */
export function readToHelper (bytes: Buffer): ToHelper {
  const [type, id] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
  if (type === 2) return { type: 'stop', id }
  if (type !== 1) throw outOfStep()
  const argsCount = bytes.readUInt32LE(24)
  const [cwd = '', program = '', ...strings] = bytes.toString('utf8', 36).split('\0')
  if (strings.length !== argsCount + bytes.readUInt32LE(28) + 1) throw outOfStep()
  const env = Object.fromEntries(strings.slice(argsCount, -1).map(variable => {
    const at = variable.indexOf('=')
    return [variable.slice(0, at), variable.slice(at + 1)]
  }))
  return {
    type: 'run', id, program, args: strings.slice(0, argsCount), cwd, env, stdin: bytes.readUInt32LE(8) === 1,
    live: bytes.readUInt32LE(12) === 1,
    output_bytes_max: bytes.readUInt32LE(16), output_bytes_stop: bytes.readUInt32LE(20), rules: bytes.readUInt32LE(32)
  }
}

/**
 * Reads a message of the helper.
 * @throws Error when the bytes are not a message
 */
export function readFromHelper (bytes: Buffer): FromHelper {
  if (bytes.length > fromBytesMax) throw outOfStep()
  const [type, id] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)]
  switch (type) {
    case 1: {
      const pid = bytes.readUInt32LE(8)
      // The server signals this process group: 0 and 1 would mean other processes.
      if (bytes.length !== 12 || pid < 2 || pid > pidMax) throw outOfStep()
      return { type: 'started', id, pid }
    }
    case 2: {
      const why = refusals[bytes.readUInt32LE(8)]
      if (why === undefined) throw outOfStep()
      return { type: 'refused', id, why, system_code: bytes.toString('utf8', 12) }
    }
    case 3: {
      const [code, number] = [bytes.readInt32LE(8), bytes.readUInt32LE(12)]
      const [exceeded, high] = [excesses[bytes.readUInt32LE(16)], bytes.readUInt32LE(24)]
      const isUnknown = code < -1 || code > 255 || number > signalMax || exceeded === undefined
      if (isUnknown || high >= halfway / 2048) throw outOfStep()
      const signal = signalNames.get(number) ?? null
      return {
        // Real-time signals have no name.
        type: 'ended', id, signal, exit_code: signal !== null ? null : number > 0 ? 128 + number : code,
        exceeded, stdout_bytes: bytes.readUInt32LE(20) + high * halfway,
        stderr: bytes.toString('utf8', 28)
      }
    }
    case 4: {
      const stream = bytes.length === 12 ? outputStreams[bytes.readUInt32LE(8)] : undefined
      if (stream === undefined) throw outOfStep()
      return { type: 'output', id, stream }
    }
    default: throw outOfStep()
  }
}

export function outOfStep (): Error {
  return new Error('the pipe between server and helper is out of step')
}
