import { randomBytes } from 'node:crypto'
import type { RunState } from '../run-state.ts'
import { Exit } from '../wasi-error.ts'
import { Descriptor, DirectoryEntryStream, filesystemErrorCode } from './filesystem.ts'
import { InputStream, OutputStream, poll, Pollable, StreamError, streamOfInput } from './streams.ts'

/** The most random bytes that are given at once. */
const randomBytesMax = 1_048_576

/** A terminal, which no program has. */
class Terminal {
  readonly there = false
}

/** The interfaces of a component that is not given anything of: they are there, and each use of them ends it. */
const refused = /^wasi:(?:http|sockets|keyvalue|config|logging)\//

/** Whether a component may import an interface. @param name such as `wasi:cli/stdin`, without a version */
export function isKnownInterface (name: string): boolean {
  return refused.test(name) || Object.hasOwn(interfaces(undefined), name)
}

/** The interfaces of WASI preview 2 for one run of a component. There is no network among them. */
export function preview2 (state: RunState): Record<string, object> {
  const given = interfaces(state)
  return new Proxy(given, {
    get: (_, name) => typeof name === 'string' && refused.test(name) ? refusing(name) : Reflect.get(given, name)
  })
}

function interfaces (given: RunState | undefined): Record<string, object> {
  const run = (): RunState => {
    if (given === undefined) throw new Error('it does not run')
    return given
  }
  const none = (): undefined => undefined
  return {
    'wasi:cli/environment': {
      getEnvironment: () => Object.entries(run().input.env),
      getArguments: () => [run().name, ...run().input.args],
      initialCwd: none
    },
    'wasi:cli/exit': {
      exit: ({ tag }: { tag: 'ok' | 'err' }) => { throw new Exit(tag === 'ok' ? 0 : 1) },
      exitWithCode: (code: number) => { throw new Exit(code) }
    },
    'wasi:cli/stdin': { getStdin: () => streamOfInput(run()) },
    'wasi:cli/stdout': { getStdout: () => new OutputStream(bytes => { run().writeOutput(bytes) }) },
    'wasi:cli/stderr': { getStderr: () => new OutputStream(bytes => { run().writeError(bytes) }) },
    'wasi:cli/terminal-input': { TerminalInput: Terminal },
    'wasi:cli/terminal-output': { TerminalOutput: Terminal },
    'wasi:cli/terminal-stdin': { getTerminalStdin: none },
    'wasi:cli/terminal-stdout': { getTerminalStdout: none },
    'wasi:cli/terminal-stderr': { getTerminalStderr: none },
    'wasi:io/error': { Error: StreamError },
    'wasi:io/poll': { Pollable, poll },
    'wasi:io/streams': { InputStream, OutputStream },
    'wasi:filesystem/preopens': {
      getDirectories: () => run().files.preopens.map(({ guest, folder }) =>
        [new Descriptor(run().files, folder), guest])
    },
    'wasi:filesystem/types': { Descriptor, DirectoryEntryStream, filesystemErrorCode },
    ...clocks(),
    ...random()
  }
}

function clocks (): Record<string, object> {
  return {
    'wasi:clocks/monotonic-clock': {
      now: () => process.hrtime.bigint(),
      resolution: () => 1_000n,
      subscribeInstant: (until_ns: bigint) =>
        new Pollable(performance.now() + Number(until_ns - process.hrtime.bigint()) / 1e6),
      subscribeDuration: (wait_ns: bigint) => new Pollable(performance.now() + Number(wait_ns) / 1e6)
    },
    'wasi:clocks/wall-clock': {
      now: () => {
        const now_ms = Date.now()
        return { seconds: BigInt(Math.floor(now_ms / 1_000)), nanoseconds: now_ms % 1_000 * 1_000_000 }
      },
      resolution: () => ({ seconds: 0n, nanoseconds: 1_000_000 })
    },
    'wasi:clocks/timezone': {
      display: () => ({ utcOffset: 0, name: 'UTC', inDaylightSavingTime: false }), utcOffset: () => 0
    }
  }
}

function random (): Record<string, object> {
  const bytes = (length: bigint): Uint8Array => {
    if (length > BigInt(randomBytesMax)) throw new Error(`more than ${randomBytesMax} random bytes were asked for`)
    return randomBytes(Number(length))
  }
  const number = (): bigint => randomBytes(8).readBigUInt64LE()
  return {
    'wasi:random/random': { getRandomBytes: bytes, getRandomU64: number },
    'wasi:random/insecure': { getInsecureRandomBytes: bytes, getInsecureRandomU64: number },
    'wasi:random/insecure-seed': { insecureSeed: () => [number(), number()] }
  }
}

/** An interface in which every function ends the program. */
function refusing (name: string): object {
  return new Proxy({}, {
    get: (_, member) => {
      const fail = (): never => {
        throw new Error(`it used ${name} (${String(member)}), which WebAssembly skills are not given`)
      }
      return new Proxy(Terminal, { construct: fail, apply: fail, get: (own, key) => Reflect.get(own, key) ?? fail })
    }
  })
}
