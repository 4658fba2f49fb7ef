import type { Static, TObject } from 'typebox'
import type { Access } from './access.ts'
import type { CancelSignal } from './cancel.ts'
import type { Catalog } from './catalog.ts'
import type { Config } from './config.ts'
import type { Search, Storage } from './contracts.ts'
import type { ErrorCode } from './errors.ts'
import type { Executions } from './executions.ts'
import type { JsonObject, PluginStatus, TRANSPORTS } from './schemas.ts'
import type { Selections } from './select.ts'
import type { Terms } from './terms.ts'
import type { Version } from './version.ts'

/** By what a parameter declares as `from_client`. */
export type ClientInput = Readonly<{ answers?: JsonObject | undefined, state?: string | undefined, capabilities?: JsonObject | undefined }>

/** How a call came in. */
export interface Call {
  transport: typeof TRANSPORTS[number]
  /** Aborts when the caller went away; what it waits for is then cancelled. */
  signal: CancelSignal
  /** Told the id of the execution that the call makes, as soon as there is one; its events on the bus carry it. */
  accepted?: (execution_id: string) => void
  /** What an agent's client brought beside the agent's parameters. Absent where the caller is none: it may give those itself. */
  readonly client?: ClientInput
  /** Told what a tool says in the terms of MCP; whether it was understood. If so, an agent's answer has only its text. */
  spoken?: (terms: Terms) => boolean
  /** The rights it came with; without any it may do everything. The gateway enforces them. */
  readonly access?: Access | undefined
}

/** What handlers work with, narrowed to the rights of the call. */
export interface Services {
  config: Config
  version: Version
  catalog: Pick<Catalog, 'skills' | 'size' | 'quarantined' | 'warnings' | 'skill' | 'tool' | 'check'>
  executions: Pick<Executions, 'run' | 'cancel'>
  storage: Pick<Storage, 'get' | 'list'>
  search: Pick<Search, 'search' | 'state'>
  /** Applies expressions of agents to what a tool put out. */
  selections: Pick<Selections, 'select'>
  /** The same list until one of them changes. */
  plugins (): readonly PluginStatus[]
  uptime_seconds (): number
}

/** What can be called through the gateway: checked input, rights by effect, a handler. */
export interface Callable<I extends TObject = TObject, O extends TObject = TObject> {
  /** In snake case; MCP tools, CLI commands and OpenAPI operation ids are named after it. */
  readonly name: string
  /** `read` changes nothing and may be repeated. */
  readonly effect: 'read' | 'write'
  readonly description: string
  readonly input: I
  readonly output: O
  /** Puts right what callers write nearly, before the input is checked. Absent where callers are taken at their word. @throws SkilletError */
  correct? (services: Services, given: JsonObject): JsonObject
  handler (services: Services, input: Static<I>, call: Call): Static<O> | Promise<Static<O>>
}

/**
 * An operation, whole: every transport is a fold over a table of these.
 * Path placeholders of the route, query values (GET) and body fields (POST) are the fields of `input`.
 */
export interface Operation<I extends TObject = TObject, O extends TObject = TObject> extends Callable<I, O> {
  /** Method and path, for HTTP. */
  readonly route: `${'GET' | 'POST'} /api/${string}`
  readonly summary: string
  /** Codes it answers with, beyond those that any request can get. */
  readonly errors: readonly ErrorCode[]
  /** A call and its answer, for the documentation; a test checks both against the schemas. */
  readonly example: { input: JsonObject, output: JsonObject }
  /** The operation as agents have it: a tool of MCP. Absent where it is none of theirs. */
  readonly agent?: AgentTool
}

/** An operation as an agent's tool: with words for a model, and an answer that a model can afford. */
export interface AgentTool<I extends TObject = TObject, O extends TObject = TObject> extends Callable<I, O> {
  readonly title: string
  /** A call that works, for errors to show. */
  readonly example: JsonObject
}

/** Declares an operation for agents; its handler is typed by its schemas. */
export function agentTool<I extends TObject, O extends TObject> (definition: AgentTool<I, O>): AgentTool {
  return definition
}

/** Declares an operation; its handler is typed by its schemas. */
export function operation<I extends TObject, O extends TObject> (definition: Operation<I, O>): Operation<I, O> {
  return definition
}
