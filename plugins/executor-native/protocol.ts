/**
 * What the server and its helper process say to each other, over one pipe. Each message may carry a payload of raw
 * bytes, so that a tool's input and output are never escaped, and never a long string in the helper's heap.
 */

/** Starts a command. The payload is its standard input, where `stdin` says that it has one. */
export interface RunMessage {
  type: 'run'
  /** Chosen by the server; names the run in all other messages. */
  id: number
  /** A name to look up in the environment's PATH, or an absolute path. */
  program: string
  args: string[]
  /** Absolute. */
  cwd: string
  /** The whole environment. */
  env: Record<string, string>
  stdin: boolean
  /** Whether standard output is also told as it comes, by `output`. */
  live: boolean
  /** Bytes of standard output that are kept. */
  output_bytes_max: number
  /** Bytes of standard output and standard error together beyond which the command is stopped. */
  output_bytes_stop: number
}

export type ToHelper =
  | RunMessage
  /** Ends a run: SIGTERM to its process group, later SIGKILL. It is answered by `ended`; unknown ids are ignored. */
  | { type: 'stop', id: number }

/** Why a command could not be started. */
export type Refusal =
  /** The working directory is missing, no directory, or closed to the server. */
  | 'directory'
  /** No such program. */
  | 'missing'
  /** The program is a script whose interpreter is missing. */
  | 'interpreter'
  /** The program is there and can't be executed. */
  | 'not_executable'
  /** Arguments and environment are longer than the system takes. */
  | 'too_long'
  /** The system has no processes, descriptors or memory left. */
  | 'resources'

/** How a run ended. The payload is what was kept of its standard output. */
export interface EndedMessage {
  type: 'ended'
  id: number
  /** Null when a signal ended it. */
  exit_code: number | null
  signal: NodeJS.Signals | null
  /** Bytes of standard output in all. */
  stdout_bytes: number
  /** Whether it was stopped because it went past `output_bytes_stop`. */
  flooded: boolean
  /** The end of standard error. */
  stderr: string
}

export type FromHelper =
  | { type: 'started', id: number, pid: number }
  /** The payload is the next piece of what is kept of standard output; told of runs that are `live`. */
  | { type: 'output', id: number }
  | { type: 'refused', id: number, why: Refusal, system_code: string }
  | EndedMessage

/** Two lengths, of the message as JSON and of the payload: 32 bits each, little endian. */
const prefixBytes = 8
/** No message and no payload is longer; one that claims to be means that the pipe is out of step. */
const partBytesMax = 256 * 1_048_576

const empty = Buffer.alloc(0)

/** A message and its payload, as they are sent. */
export function encode (message: ToHelper | FromHelper, payload: Uint8Array = empty): Buffer {
  const text = JSON.stringify(message)
  const textBytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(prefixBytes + textBytes + payload.length)
  frame.writeUInt32LE(textBytes, 0)
  frame.writeUInt32LE(payload.length, 4)
  frame.write(text, prefixBytes, 'utf8')
  frame.set(payload, prefixBytes + textBytes)
  return frame
}

/**
 * Puts messages together again from the chunks they arrive in.
 * @returns what is called with each chunk; it throws when the bytes can't be a message
 */
export function createDecoder<M extends ToHelper | FromHelper> (take: (message: M, payload: Buffer) => void): (chunk: Buffer) => void {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let wanted = prefixBytes
  return chunk => {
    pending.push(chunk)
    pendingBytes += chunk.length
    // A long frame comes in many chunks: they are joined once, when all are there.
    if (pendingBytes < wanted) return
    const bytes = pending.length === 1 ? chunk : Buffer.concat(pending, pendingBytes)
    let at = 0
    for (wanted = prefixBytes; bytes.length - at >= wanted; wanted = prefixBytes) {
      const textBytes = bytes.readUInt32LE(at)
      const payloadBytes = bytes.readUInt32LE(at + 4)
      if (textBytes > partBytesMax || payloadBytes > partBytesMax) throw new Error('the pipe between server and helper is out of step')
      wanted = prefixBytes + textBytes + payloadBytes
      if (bytes.length - at < wanted) break
      const payloadAt = at + prefixBytes + textBytes
      const message = JSON.parse(bytes.toString('utf8', at + prefixBytes, payloadAt)) as M // the other end is our own
      take(message, bytes.subarray(payloadAt, payloadAt + payloadBytes))
      at += wanted
    }
    pending = at < bytes.length ? [bytes.subarray(at)] : []
    pendingBytes = bytes.length - at
  }
}
