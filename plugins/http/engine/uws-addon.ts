import { messageOf } from '../../../kernel/index.ts'

/** The part of uWebSockets.js that this plugin uses. The addon's own types lack `listen` with a host and options. */
export interface Uws {
  App (): App
  us_listen_socket_close (socket: ListenSocket): void
  us_socket_local_port (socket: ListenSocket): number
  LIBUS_LISTEN_EXCLUSIVE_PORT: number
}

export interface ListenSocket { readonly brand?: 'us_listen_socket' }

interface App {
  get (pattern: string, handler: Handler): App
  post (pattern: string, handler: Handler): App
  any (pattern: string, handler: Handler): App
  ws<Data> (pattern: string, behavior: WebSocketBehavior<Data>): App
  listen (host: string, port: number, options: number, done: (socket: ListenSocket | false) => void): App
  close (): App
}

export interface WebSocketBehavior<Data> {
  compression: number
  maxPayloadLength: number
  maxBackpressure: number
  closeOnBackpressureLimit: boolean
  /** In seconds. */
  idleTimeout: number
  sendPingsAutomatically: boolean
  upgrade (response: UwsResponse, request: UwsRequest, context: UwsContext): void
  open (socket: UwsSocket<Data>): void
  message (socket: UwsSocket<Data>, message: ArrayBuffer, isBinary: boolean): void
  drain (socket: UwsSocket<Data>): void
  close (socket: UwsSocket<Data>): void
}

export interface UwsContext { readonly brand?: 'us_socket_context' }

/** A WebSocket is valid until it was closed; any use after that throws. */
export interface UwsSocket<Data> {
  getUserData (): Data
  getBufferedAmount (): number
  send (text: string): number
  end (code: number, reason: string): void
}

type Handler = (response: UwsResponse, request: UwsRequest) => void

/** A request is valid only until the handler returns. */
export interface UwsRequest {
  getCaseSensitiveMethod (): string
  getUrl (): string
  getQuery (): string | undefined
  forEach (each: (name: string, value: string) => void): void
}

/** A response is valid until it was ended or aborted; any use after that throws. */
export interface UwsResponse {
  writeStatus (status: ArrayBuffer): UwsResponse
  writeHeader (name: string, value: string): UwsResponse
  write (chunk: string | Uint8Array): boolean
  end (body?: string | Uint8Array, close?: boolean): UwsResponse
  endWithoutBody (length?: number, close?: boolean): UwsResponse
  tryEnd (chunk: Uint8Array, size: number): [ok: boolean, done: boolean]
  getWriteOffset (): number
  onWritable (handler: (offset: number) => boolean): UwsResponse
  onAborted (handler: () => void): UwsResponse
  onData (handler: (chunk: ArrayBuffer, last: boolean) => void): UwsResponse
  cork (write: () => void): UwsResponse
  close (): UwsResponse
  pause (): void
  upgrade (data: object, key: string, protocol: string, extensions: string, context: UwsContext): void
  getRemoteAddressAsText (): ArrayBuffer
}

/**
 * The addon reads this variable when it is loaded. Its default is 4 KiB; the cookies of a much-used localhost can be
 * larger.
 */
const headersMax = { variable: 'UWS_HTTP_MAX_HEADERS_SIZE', bytes: '16384' }

/**
 * Packages of the registry with the addon's binaries, in the order in which they are tried. The first has binaries for
 * Node 20 and 22, which run with glibc 2.27 and later; the second for Node 20, 22, 24 and 25, with glibc 2.38 and
 * later. uWebSockets.js itself is not on the registry.
 */
const packages: readonly { name: string, load: () => Promise<unknown> }[] = [
  { name: 'uws-pack', load: () => import('uWebSockets.js') },
  { name: '@btc-vision/uwebsockets.js', load: () => import('@btc-vision/uwebsockets.js') }
]

/**
 * Loads the addon from the first package that has a binary for this platform and Node.
 * @throws Error where no package has such a binary
 */
export async function loadAddon (): Promise<{ package: string, uws: Uws }> {
  const valueBefore = process.env[headersMax.variable]
  process.env[headersMax.variable] ??= headersMax.bytes
  const reasons: string[] = []
  try {
    for (const { name, load } of packages) {
      try {
        return { package: name, uws: await load() as Uws } // declared above, since its own types are incomplete
      } catch (error) {
        reasons.push(`${name}: ${reasonOf(error)}`)
      }
    }
  } finally {
    if (valueBefore === undefined) delete process.env[headersMax.variable]
  }
  throw new Error(reasons.join('; '))
}

/** The cause in the addon's error message: it follows a sentence about the platforms that the addon supports. */
function reasonOf (error: unknown): string {
  const lines = messageOf(error).split('\n')
  return (lines.find(line => line.startsWith('Error: ')) ?? lines[0] ?? '').replace(/^Error: /, '')
}
