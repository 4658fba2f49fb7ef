import type { Isolation, LogLevel, SkillDefinition } from '../../kernel/index.ts'
import { configHome, messageOf, SecretFile, within } from '../../kernel/index.ts'
import { readOAuth, SkillOAuth, writeOAuth } from '../toolkit/mcp/oauth.ts'
import { withSecrets, type ServerSpec } from '../toolkit/mcp/server-spec.ts'
import { environmentOf } from '../toolkit/environment.ts'
import type { Connection, Era } from './client/connection.ts'
import type { Ask } from './client/questions.ts'
import type { RemoteTransport } from './client/remote.ts'
import { LastWords } from './process/last-words.ts'
import { startConfined } from './process/confined-server.ts'
import type { Confinement } from './process/confinement.ts'
import { exitInWords, startServerProcess, type ServerProcess } from './process/server-process.ts'
import type { StdioTransport } from './process/stdio-transport.ts'
import { ServerFault } from './server-fault.ts'

/** What a session needs. */
export interface SessionOptions {
  skill: SkillDefinition
  spec: ServerSpec
  secrets: Readonly<Record<string, string>>
  /** The protocol that the server is known to speak. */
  era: Era | undefined
  listChanged (): void
  logged (level: LogLevel, text: string): void
  asked: Ask
  /** Told what the server wanted to reach, and its skill does not list. */
  refused (message: string): void
  confinement: Pick<Confinement, 'of'>
}

/** A session with a running server. */
export interface Session {
  readonly connection: Connection
  readonly isolation: Isolation
  /** A call begins. @param alone whether no other one runs */
  begin? (alone: boolean): void
  /** Why a server elsewhere did not take a call: it wants a login, or does not know the session. */
  refusal? (error: unknown): string | undefined
  /** Resolves when the server is gone, with how it ended, in words. */
  readonly ended: Promise<string>
  /** Ends the session, and the server where it is a process. Resolves when it has ended. */
  end (): Promise<void>
}

/** How long a process that closed its output, or a session elsewhere, may take to end, in milliseconds. */
const end_ms = 1_000

/**
 * Starts a server, or connects to one elsewhere, and begins a session.
 * @param signal ends the attempt
 * @throws ServerFault in one line, with what to do
 */
export async function openSession (options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const { start_ms } = options.spec
  const limit = new AbortController()
  const timer = setTimeout(() => { limit.abort() }, start_ms)
  const either = AbortSignal.any([signal, limit.signal])
  const late = (): ServerFault | undefined => limit.signal.aborted && !signal.aborted
    ? new ServerFault(`it did not answer within ${start_ms / 1000} s, as start_ms in [mcp] says`)
    : undefined
  try {
    return await (options.spec.url === undefined ? openProcess(options, either, late) : openRemote(options, either))
  } catch (error) {
    if (signal.aborted || error instanceof ServerFault) throw error
    throw late() ?? new ServerFault(messageOf(error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

async function openRemote (options: SessionOptions, signal: AbortSignal): Promise<Session> {
  const { skill, spec, secrets, era, listChanged, logged, asked } = options
  const { Connection, mayBeOlder, remoteFault, serverSentEvents, sessionFault, streamable, wantsLogin } =
    await import('./client/client.ts')
  const headers = Object.entries(spec.headers).map(([name, value]) => [name, withSecrets(value, secrets)])
  const remote = {
    name: skill.name, url: withSecrets(spec.url ?? '', secrets),
    headers: Object.fromEntries(headers) as Record<string, string>, oauth: oauthOf(skill.name, spec)
  }
  const open = async (transport: RemoteTransport): Promise<Session> => {
    const connection =
      await Connection.open(transport, { start_ms: spec.start_ms, era, listChanged, logged, asked }, signal)
    return {
      connection, isolation: 'none',
      async end () {
        await within(end_ms, transport.terminateSession?.().catch(() => {}) ?? Promise.resolve())
        await connection.close()
      },
      refusal (error) {
        if (wantsLogin(error)) return remoteFault(error, remote)
        const fault = sessionFault(error, remote)
        // The next call begins another session. Calls that run may have answers where it is not certain.
        if (fault?.isCertain === true || (fault !== undefined && connection.calls === 0)) void connection.close()
        return fault?.text
      },
      ended: connection.closed.then(() => 'the connection was closed')
    }
  }
  try {
    return await open(streamable(remote)).catch(async error => {
      if (signal.aborted || !mayBeOlder(error)) throw error
      return await open(serverSentEvents(remote)).catch(() => { throw error })
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new ServerFault(remoteFault(error, remote), { cause: error })
  }
}

/** The credentials that the user's last login left, unless the skill gives its own. */
function oauthOf (name: string, { url, headers }: ServerSpec): SkillOAuth | undefined {
  const hasOwn = Object.keys(headers).some(header => header.toLowerCase() === 'authorization')
  if (url === undefined || hasOwn) return undefined
  const file = new SecretFile(configHome(process.env), process.env)
  const state = readOAuth(file, name, url)
  return state && new SkillOAuth({ state, save: state => writeOAuth(file, name, state) })
}

async function openProcess (
  options: SessionOptions, signal: AbortSignal, late: () => ServerFault | undefined
): Promise<Session> {
  try {
    return await tryProcess(options, signal, late)
  } catch (error) {
    // Some servers of older versions end when they are asked for the newest protocol first.
    if (!(error instanceof EarlyExit) || options.era !== undefined || signal.aborted) throw error
    return await tryProcess({ ...options, era: 'legacy' }, signal, late)
  }
}

/** A server ended before it had answered. */
class EarlyExit extends ServerFault {}

async function tryProcess (
  options: SessionOptions, signal: AbortSignal, late: () => ServerFault | undefined
): Promise<Session> {
  const { skill, spec, era, listChanged, logged, asked } = options
  let refusal = ''
  const { process, isolation } = await startProcess(options, message => { options.refused(refusal = message) })
  const words = new LastWords(process.stderr)
  let garbage: string | undefined
  let transport: Pick<StdioTransport, 'fault'> | undefined
  try {
    const { Connection, parseJSONRPCMessage, StdioTransport } = await import('./client/client.ts')
    const speech = new StdioTransport({
      process, parse: parseJSONRPCMessage, garbage: quote => { garbage = quote }
    })
    transport = speech
    const connection =
      await Connection.open(speech, { start_ms: spec.start_ms, era, listChanged, logged, asked }, signal)
    return {
      connection, isolation, end: () => process.end(),
      ...(process.begin && { begin: process.begin }),
      ended: process.exited.then(exit => `${speech.fault ?? `it ${exitInWords(exit)}`}${said(words.line)}`)
    }
  } catch (error) {
    // After the limit, the client closes the transport, at which the server ends.
    const isGone = !signal.aborted && await within(end_ms, process.exited)
    await process.end()
    if (transport?.fault !== undefined) throw new ServerFault(transport.fault, { cause: error })
    const what = refusal === '' ? '' : `; ${refusal}`
    const where = isolation === 'process' ? '' : `${what}; it ran in the sandbox, with its permissions: change these, or skillet trust ${skill.name}`
    if (isGone) throw new EarlyExit(
      `its command ${exitInWords(await process.exited)}${said(words.line)}${where}`, { cause: error }
    )
    const wrote = garbage === undefined ? said(words.line) : `; what it wrote is not of MCP: ${garbage}`
    throw new ServerFault(`${late()?.message ?? messageOf(error)}${wrote}${where}`, { cause: error })
  }
}

/** Starts the process of a server, in the sandbox where it has to be. */
async function startProcess (
  { skill, spec, secrets, confinement }: SessionOptions, refused: (message: string) => void
): Promise<{ process: ServerProcess, isolation: Isolation }> {
  const own = Object.entries(spec.env).map(([name, value]) => [name, withSecrets(value, secrets)])
  const env = {
    ...environmentOf(skill.permissions.env), ...secrets, ...Object.fromEntries(own) as Record<string, string>
  }
  const confined = await confinement.of({ skill, spec, env, refused })
  if (confined !== undefined) return { process: await startConfined(confined), isolation: confined.level }
  return { process: await startServerProcess(spec.command ?? [], { cwd: spec.cwd, env }), isolation: 'process' }
}

function said (line: string): string {
  return line === '' ? '' : `: ${line}`
}
