/**
 * The module that authors of script skills import, only for its types: a plain file with the same default export works
 * without this import.
 */

/** The context that a running tool receives beside its parameters. */
export interface ToolContext {
  /** Aborts when the execution is cancelled or the server stops. A tool that listens to it can end cleanly. */
  readonly signal: AbortSignal
  /** The skill's section of the configuration, `[skills.config.<name>]`. */
  readonly config: Readonly<Record<string, unknown>>
  /** The secrets that the skill declares in `permissions.secrets`, by name. */
  readonly secrets: Readonly<Record<string, string>>
  readonly execution_id: string
  /** Reports the progress of the tool: `done` of `total`, in units that the tool chooses. */
  progress (done: number, total?: number, message?: string): void
  log (level: 'debug' | 'info' | 'warn' | 'error', text: string): void
}

/** A parameter of a tool. It may hold any further JSON Schema keyword. */
export interface Parameter {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'
  description: string
  /** Default false. */
  required?: boolean
  /** Whether the parameter is secret: its values are never stored or logged. Default false. */
  secret?: boolean
  /**
   * The agent's client fills in the value, never the agent: the `answers` to the questions of the tool (an object), the
   * `state` that the tool returned with its questions (a string), or the client's `capabilities` (an object). The value
   * is absent when the caller is not such a client.
   */
  from_client?: 'answers' | 'state' | 'capabilities'
  /**
   * Clients of MCP over HTTP repeat the value in the header `Mcp-Param-…` with this name, for routers in front of a
   * server.
   */
  mcp_header?: string
  default?: unknown
  enum?: readonly unknown[]
  [keyword: string]: unknown
}

type TypeOf<P extends Parameter> =
  P['enum'] extends readonly (infer Member)[] ? Member
    : P['type'] extends 'string' ? string
      : P['type'] extends 'integer' | 'number' ? number
        : P['type'] extends 'boolean' ? boolean
          : P['type'] extends 'array' ? (P extends { items: { type: 'string' } } ? string[] : unknown[])
            : Record<string, unknown>

/** Whether a parameter always has a value: it is required, or it has a default value. */
type Present<P extends Parameter> = P extends { required: true } ? true : P extends { default: unknown } ? true : false

/** The values of a call, typed by the parameters of the tool: validated, with default values filled in. */
export type Values<P extends Record<string, Parameter>> =
  { [K in keyof P as Present<P[K]> extends true ? K : never]: TypeOf<P[K]> } &
  { [K in keyof P as Present<P[K]> extends true ? never : K]?: TypeOf<P[K]> }

/**
 * How many runs go on at once. Runs count together when their `key` is the same: a text with placeholders of
 * parameters, such as `{{repository}}`; without it, all of them do. A run beyond `limit` (default 1) waits for its turn
 * (`wait`, the default), is refused, or takes the place of the oldest one, which is cancelled.
 */
export interface ConcurrencyRule {
  key?: string
  limit?: number
  when_full?: 'wait' | 'refuse' | 'cancel_oldest'
}

/** A tool of a script skill. */
export interface ScriptTool<P extends Record<string, Parameter>> {
  description: string
  parameters?: P
  /**
   * JSON Schema keywords for the parameters together, such as `anyOf`, `if` and `then`, `dependentRequired`, `$defs`.
   */
  rules?: Record<string, unknown>
  /** Time limit in milliseconds. Default: the setting `execution.timeout_ms`. */
  timeout_ms?: number
  /** What the tool declares of its effects. An annotation that is absent says nothing. */
  annotations?: { read_only?: boolean, destructive?: boolean, idempotent?: boolean, open_world?: boolean }
  /**
   * Runs it again when it fails, for a tool whose annotations say `idempotent` or `read_only`: at most `attempts`
   * times, after a wait of `backoff_ms` (default 500), multiplied by `factor` (2) each time up to `max_ms` (30,000), of
   * which the share `jitter` (0.5) is drawn by chance.
   */
  retry?: { attempts: number, backoff_ms?: number, factor?: number, max_ms?: number, jitter?: number }
  /** How many runs of the tool go on at once. Default: the rule of the skill, if it has one. */
  concurrency?: ConcurrencyRule
  /**
   * Runs it only when a person has approved it. The text says what it would do, such as `Deletes {{path}}`, with the
   * values of parameters.
   */
  approval?: string
  /**
   * Does the work. The value that it returns (or resolves with) is the output: a string as it is, any other value as
   * JSON. An exception fails the execution.
   */
  run (parameters: Values<P>, context: ToolContext): unknown
}

/** A script skill: the default export of its module. */
export interface ScriptSkill<T extends Record<string, Record<string, Parameter>>> {
  description?: string
  version?: string
  permissions?: {
    network?: boolean | string[], write?: string[], read?: string[], env?: string[], secrets?: string[],
    isolation?: 'sandbox'
  }
  /** How many runs of its tools go on at once, those of all tools without a rule of their own together. */
  concurrency?: ConcurrencyRule
  tools: { [K in keyof T]: ScriptTool<T[K]> }
}

/** Adds the types to the default export of a script skill. It returns its argument. */
export function defineSkill<const T extends Record<string, Record<string, Parameter>>> (
  skill: ScriptSkill<T>
): ScriptSkill<T> {
  return skill
}
