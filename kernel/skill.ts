/**
 * What the author of a script skill imports, for its types alone: a plain file with the same default export works
 * without it.
 */

/** What a running tool is given beside its parameters. */
export interface ToolContext {
  /** Aborts when the execution is cancelled or its server stops. A tool that heeds it ends in peace. */
  readonly signal: AbortSignal
  /** The skill's own section of the configuration, `[skills.config.<name>]`. */
  readonly config: Readonly<Record<string, unknown>>
  /** The secrets that the skill declares in `permissions.secrets`, by name. */
  readonly secrets: Readonly<Record<string, string>>
  readonly execution_id: string
  /** Tells how far the tool is: `done` of `total`, in units of its own. */
  progress (done: number, total?: number, message?: string): void
  log (level: 'debug' | 'info' | 'warn' | 'error', text: string): void
}

/** A parameter of a tool. Any further JSON Schema keyword may stand in it. */
export interface Parameter {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object'
  description: string
  /** Default false. */
  required?: boolean
  /** Its values are never stored or logged. Default false. */
  secret?: boolean
  /**
   * An agent's client fills it in, never the agent: `answers` to what the tool asked (an object), the `state` that the
   * tool gave when it asked (a string), or the client's `capabilities` (an object). Absent where the caller is no such
   * client.
   */
  from_client?: 'answers' | 'state' | 'capabilities'
  /**
   * Clients of MCP over HTTP repeat its values in the header `Mcp-Param-…` of this name, for routers in front of a
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

/** Whether a parameter is always there: required, or given its default. */
type Present<P extends Parameter> = P extends { required: true } ? true : P extends { default: unknown } ? true : false

/** The values a tool is called with, from its parameters: validated, defaults filled in. */
export type Values<P extends Record<string, Parameter>> =
  { [K in keyof P as Present<P[K]> extends true ? K : never]: TypeOf<P[K]> } &
  { [K in keyof P as Present<P[K]> extends true ? never : K]?: TypeOf<P[K]> }

/** A tool of a script skill. */
export interface ScriptTool<P extends Record<string, Parameter>> {
  description: string
  parameters?: P
  /**
   * JSON Schema keywords for the parameters together, such as `anyOf`, `if` and `then`, `dependentRequired`, `$defs`.
   */
  rules?: Record<string, unknown>
  /** Time limit in milliseconds; `execution.timeout_ms` where absent. */
  timeout_ms?: number
  /**
   * Does the work. What it returns (or resolves to) is the output: a string as it is, anything else as JSON. A throw
   * fails the execution.
   */
  run (parameters: Values<P>, context: ToolContext): unknown
}

/** A script skill: the default export of its module. */
export interface ScriptSkill<T extends Record<string, Record<string, Parameter>>> {
  description?: string
  version?: string
  permissions?: { network?: boolean, write?: string[], env?: string[], secrets?: string[] }
  tools: { [K in keyof T]: ScriptTool<T[K]> }
}

/** Gives the types to a script skill's default export; it returns its argument. */
export function defineSkill<const T extends Record<string, Record<string, Parameter>>> (skill: ScriptSkill<T>): ScriptSkill<T> {
  return skill
}
