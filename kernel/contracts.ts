import type { TObject } from 'typebox'
import type { LogLevel } from './bus.ts'
import type { CancelSignal } from './cancel.ts'
import type { Config } from './config.ts'
import type { Gateway } from './gateway.ts'
import type { Call } from './operation.ts'
import type { SkilletError } from './errors.ts'
import type { Logger } from './log.ts'
import type { Owner } from './owner.ts'
import type { Execution, ExecutionStatus, ExecutionSummary, Isolation, JsonObject, QuarantinedSkill, SearchResult, SearchState, SkillWarning } from './schemas.ts'
import type { Scope } from './scope.ts'
import type { SkillDefinition, ToolDefinition } from './manifest.ts'

/**
 * The plugin API: every contract a plugin can meet. A plugin is an object made by `definePlugin`; its `setup`
 * returns what its slot asks for. It registers the undo of everything it acquires in `context.scope`.
 */

// ---------------------------------------------------------------- storage

/** An execution as it is stored: the record, and the process that must finish it (null once it is final). */
export interface StoredExecution {
  readonly execution: Execution
  readonly owner: Owner | null
}

/** An execution without a final state, and the process that must finish it. */
export interface UnfinishedExecution {
  readonly id: string
  readonly owner: Owner
}

/** Which executions a list wants; newest first. Without a filter, any offset costs the same. */
export interface ExecutionQuery {
  /** 1 to 500 */
  limit: number
  /** Matching records to skip. */
  offset: number
  /** Continue after the page that gave this cursor; `offset` counts from there. */
  cursor?: string
  skill_name?: string
  tool_name?: string
  status?: ExecutionStatus
  /** Only executions created at or after this time (Unix milliseconds). */
  created_from_ms?: number
  /** Only executions created before this time (Unix milliseconds). */
  created_before_ms?: number
  /** Only executions of tools for which this holds: the rights of a key. */
  allows?: (skill_name: string, tool_name: string) => boolean
}

export interface ExecutionPage {
  executions: ExecutionSummary[]
  /** All matching executions, whatever the cursor: exact without a filter; with one, exact up to `filteredTotalMax`, which it never exceeds. */
  total: number
  /** Where the next page begins; absent on the last. */
  next_cursor?: string
}

/** With a filter, a list counts matches up to here and no further. */
export const filteredTotalMax = 10_000

/**
 * Keeps executions. Several processes may use one store at once. Each execution has a dense sequence number,
 * given when it is first committed; the newest has the highest. Past the limits of the configuration the oldest are
 * pruned; an unfinished one is stepped over, and pruned when it ends.
 */
export interface Storage {
  /**
   * Asked before an execution begins to be: whoever may go on is never refused by `save`.
   * @throws SkilletError OVERLOADED when too much is waiting for a commit
   */
  admit (): void
  /**
   * Takes the newest state of an execution and sees to it that a commit follows soon. Cheap and synchronous. The
   * object may be read as late as that commit: who changes it saves it again.
   */
  save (stored: StoredExecution): void
  /** Resolves when everything saved before this call is committed to disk; callers share a commit. Rejects when that commit failed. */
  commit (): Promise<void>
  /** One execution, by id, with all that was saved, committed or not. */
  get (id: string): Promise<StoredExecution | undefined>
  /** A page of executions, with all that was saved before this call. @throws SkilletError INVALID_PARAMETERS for a cursor it did not give */
  list (query: ExecutionQuery): Promise<ExecutionPage>
  /** Executions without a final state, of all processes. */
  unfinished (): Promise<UnfinishedExecution[]>
  /**
   * Ends executions that nobody will finish: each only where, in the transaction that writes it, it is still unfinished
   * and still has that owner. Committed when this resolves, in few transactions, none of which takes long.
   * @param end makes the final record of the present one: synchronous, short, and without effect where the transaction fails
   * @returns the ids of those it ended; the others had ended, or were pruned
   */
  endUnfinished (found: readonly UnfinishedExecution[], end: (execution: Execution) => Execution): Promise<string[]>
  /** Asks the owner of an unfinished execution, in whatever process, to cancel it. Forgotten when the execution ends. */
  requestCancel (id: string): Promise<void>
  /** Ids somebody asked to cancel and that have not ended. Synchronous and cheap: it is polled. */
  cancelRequests (): string[]
  /**
   * Claims a role (such as `serve`) for a process; its holder renews it so, with a new note. Resolves undefined when
   * it now holds the role; otherwise with the present holder. A claim whose `isAlive` is false is taken over, atomically.
   */
  claim (role: string, claim: Claim, isAlive: (owner: Owner) => boolean): Promise<Claim | undefined>
  /** Gives a role back; nothing happens when another holds it. */
  release (role: string, owner: Owner): Promise<void>
  /** Who holds a role, be it alive or not. */
  holder (role: string): Promise<Claim | undefined>
  /** What plugins keep beside the executions, to spare themselves work. */
  readonly cache: Cache
}

/**
 * Keeps what is costly to make anew, by key. Several processes may use one at once. It is bounded, and forgets the oldest
 * first: whoever reads from it can do without.
 */
export interface Cache {
  /** The values of so many keys, in their order; undefined where it has none. At most `cacheLimits.keys` at once. */
  read (keys: readonly string[]): Promise<(Uint8Array | undefined)[]>
  /**
   * Keeps values; one that is there already stays. At most `cacheLimits.keys` at once.
   * @throws Error for a key or value above the limits; nothing of the call is kept then
   */
  write (entries: readonly (readonly [key: string, value: Uint8Array])[]): Promise<void>
}

export const cacheLimits = { entries: 65_536, keys: 1_000, key_characters: 200, value_bytes: 16_384 } as const

/** Who holds a role, and what others should know of it (such as its URL). */
export interface Claim { owner: Owner, note: string }

// ---------------------------------------------------------------- search

export interface SearchAnswer {
  /** Which method served it: `hybrid` (words and meaning), `lexical` (words alone), or what a further plugin calls its own. */
  mode: string
  /** Best first; scores within 0..1, which mean the same from query to query. */
  results: SearchResult[]
}

/** What is wanted of a search, beyond the query. */
export interface SearchOptions {
  /** Most results wanted, 1 to 100. */
  top_k: number
  /** Leaves out results with a lower score. */
  min_score?: number
  /** Only tools of these skills. */
  skills?: readonly string[]
  /** Only tools of skills with this runtime. */
  runtime?: string
  /** Only tools for which this holds: the rights of a key. The same function as long as the rights are the same. */
  allows?: (skill_name: string, tool_name: string) => boolean
  /** How long it may wait for a better method that is still getting ready, in milliseconds; by default it answers at once with what it has. */
  patience_ms?: number
}

/** Finds tools for a query in words. */
export interface Search {
  /** Replaces what can be found; skills that did not change since the last call are the same objects. Resolves when that can be found by some method; better ones may follow. */
  index (skills: readonly SkillDefinition[]): Promise<void>
  search (query: string, options: SearchOptions, signal: AbortSignal): Promise<SearchAnswer>
  /** A search will come soon: starts what it would wait for. Cheap where that was started before. */
  prepare? (): void
  /** How far it is. Synchronous and cheap; the same object until it changes. */
  state? (): SearchState
}

// ---------------------------------------------------------------- executors

/** One run of a tool. Plain data: it crosses thread and process borders. */
export interface Task {
  execution_id: string
  skill: SkillDefinition
  tool: ToolDefinition
  /** Valid against the tool's `input_schema`, with defaults filled in. */
  parameters: JsonObject
  /** Counted by the executor from the moment it calls `observer.started`. */
  timeout_ms: number
  /** The skill's own section of the configuration. */
  config: JsonObject
  /** What the skill declares in `permissions.secrets`, by name; absent where it declares nothing. To be given to the tool, and kept nowhere: the kernel takes the values out of what comes back. */
  secrets?: Readonly<Record<string, string>>
}

/** How an executor tells what happens in a run. */
export interface TaskObserver {
  /**
   * The tool begins to run now, in this isolation; or it began `ago_ms` milliseconds ago (default 0), where that is told
   * late. Called at most once; always before `success` or `timeout`. A tool that can't be started is `failed` without it.
   */
  started (isolation: Isolation, ago_ms?: number): void
  progress (done: number, total: number | undefined, message: string | undefined): void
  log (level: LogLevel, text: string): void
  /**
   * The tool put out this text: in order, all of it together the beginning of what the outcome holds as `output`. An
   * executor that learns of output only at the end need not call it. Absent where nobody listens: then nothing is to be gathered for it.
   */
  output? (text: string): void
}

/** What is kept of a tool's output, at most `execution.output_bytes_max` bytes and a note where it was cut. */
export interface Output { output: string, output_truncated: boolean }

/** How a run ended. `error` holds what only the executor knows, such as `exit_code` in its details. */
export type Outcome =
  | Output & { status: 'success' }
  | Output & { status: 'failed', error: { message: string, details: JsonObject } }
  | Output & { status: 'timeout' }
  | Output & { status: 'cancelled' }

/** Runs the tools of one runtime. Owns its queue, its limits and the time limit of each run. */
export interface Executor {
  /** The `runtime` of the skills it runs. */
  readonly runtime: string
  /**
   * Refuses parameters that are valid for the schema and still can't be run, before an execution exists.
   * @throws SkilletError INVALID_PARAMETERS
   */
  check? (tool: ToolDefinition, parameters: JsonObject): void
  /**
   * Runs a tool. Aborting the signal drops it from the queue, or asks it to end and then ends it; the outcome is
   * then `cancelled`. Rejects only for a fault of the executor's own, never for one of the tool's; with OVERLOADED
   * once it is closed. Whatever the tool does, no other run is harmed and nothing runs twice.
   */
  run (task: Task, observer: TaskObserver, signal: CancelSignal): Promise<Outcome>
  /** A tool of the runtime will be run soon: starts what its run would wait for. */
  prepare? (): void
  /** Resolves when what runs its tools answers, or is busy with as many as it may run; rejects when it does not. One call at a time. */
  probe? (): Promise<void>
}

// ---------------------------------------------------------------- skill sources

export interface LoadedSkills {
  skills: SkillDefinition[]
  quarantined: QuarantinedSkill[]
  /** What is odd about skills that were loaded all the same. */
  warnings?: SkillWarning[]
}

/** Finds skills. Later sources shadow earlier ones of the same name. */
export interface SkillSource {
  /** @param only the name of the one skill that is asked for: others may be left out */
  load (signal: AbortSignal, only?: string): Promise<LoadedSkills>
  /**
   * Calls back when `load` would give something else, be it at once. Called after the first `load`, and only in a kernel with
   * transports: a command that ends soon has no use for it. The returned function stops it.
   */
  watch? (changed: () => void): () => void | Promise<void>
}

// ---------------------------------------------------------------- endpoints

/** Where an endpoint is reached. */
export interface EndpointRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** As it stands in the request: no placeholders. */
  path: string
}

/** A request as an endpoint is given it. */
export interface EndpointCall extends Call {
  /** Whom limits of callers count: a key by its name, else an address. The same text for the same caller, and no other's. */
  readonly caller: string
  /** Counts a further call that the request holds against the rate limits: the first is counted already. @returns why it may not be made */
  charge (): SkilletError | undefined
}

/**
 * What an HTTP server serves beside the operations: another protocol, over the same gateway. The server checks its
 * requests as it does all others (limits, Host, Origin, key, size) before it hands them over.
 */
export interface Endpoint {
  readonly routes: readonly EndpointRoute[]
  /**
   * Answers a request, whose body is bounded and whose signal aborts when the client goes away. A reply of type
   * `text/event-stream` is sent as it comes, no faster than the client takes it; any other at once.
   * @param call rights and signal of the request, for the gateway, and who makes it
   */
  fetch (request: Request, call: EndpointCall): Promise<Response>
  /** Ends streams that wait for nothing; those that owe an answer go on. */
  quiesce? (): void
}

// ---------------------------------------------------------------- transports

/** A door: it calls operations through the gateway. It listens from the end of its `setup`. */
export interface Transport {
  /** Where it can be reached, once it listens. */
  readonly url?: string
  /** Resolves when the only client it was made for has left. Absent where clients come and go. */
  readonly ended?: Promise<void>
  /** Accepts nothing new from now on; what was accepted is still answered. Its scope closes after the drain. */
  quiesce? (): void | Promise<void>
}

// ---------------------------------------------------------------- plugins

/** What each slot's `setup` returns. */
export interface Slots {
  storage: Storage
  search: Search
  executor: Executor
  skills: SkillSource
  endpoint: Endpoint
  transport: Transport
}
export type Slot = keyof Slots

/** What every plugin is given. */
export interface PluginContext {
  /** The whole configuration, frozen. */
  config: Config
  /** Absolute path of the configuration file, which need not exist; absent where there can be none. For settings that change while the server runs. */
  config_file?: string
  /** Undone, last in first out, when the plugin stops. */
  scope: Scope
  log: Logger
  /** Aborts when the plugin took too long to start, or the kernel stops while it starts. */
  signal: AbortSignal
  /** Absolute path of the data directory; it exists. */
  data_dir: string
  /** Tells the supervisor how the plugin is, once it has started. */
  health: { degrade (reason: string): void, recover (): void }
}

/** What an endpoint is given beyond that. */
export interface EndpointContext extends PluginContext { gateway: Gateway }

/** What a transport is given beyond that. */
export interface TransportContext extends EndpointContext {
  /** For a server that speaks HTTP; others leave them alone. */
  endpoints: readonly Endpoint[]
}

/** What a search is given beyond that. */
export interface SearchContext extends PluginContext {
  /** The storage's cache. */
  cache: Cache
}

type ContextOf<S extends Slot> = S extends 'transport' ? TransportContext : S extends 'endpoint' ? EndpointContext : S extends 'search' ? SearchContext : PluginContext

/** What a plugin finds of its surroundings. */
export interface Finding {
  /** `ok`: as it should be; `note`: worth knowing; `problem`: somebody has to mend it. */
  level: 'ok' | 'note' | 'problem'
  /** What it is about, in a word or two. */
  about: string
  text: string
  /** What to do about it. */
  remedy?: string
}

/** What a plugin is given to look at its surroundings. */
export interface ExamineContext {
  config: Config
  /** Absolute; it need not exist. */
  data_dir: string
  /** All skills that could be loaded. */
  skills: readonly SkillDefinition[]
  signal: AbortSignal
}

/** A plugin, before it is set up. */
export interface Plugin<S extends Slot = Slot, Options extends object = object> {
  /** Unique; its options are the configuration section `[plugin.<name>]`. */
  readonly name: string
  readonly slot: S
  /** Whether the kernel stops when it can't start; an optional one is reported `degraded`. Default true. */
  readonly required?: boolean
  /** Schema of its options; values are given defaults and checked before `setup`. */
  readonly options?: TObject
  setup (context: ContextOf<S>, options: Options): Promise<Slots[S]> | Slots[S]
  /** Looks at what it depends on, whether it is set up or not, and changes nothing: for `skillet doctor`. */
  examine? (context: ExamineContext): Promise<Finding[]> | Finding[]
}

/** Any plugin, of whatever slot. */
export type AnyPlugin = { [S in Slot]: Plugin<S> }[Slot]
