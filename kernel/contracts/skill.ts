import { Type, type Static } from 'typebox'
import { Choice, CONFINEMENTS, type JsonObject, type Tool } from './schemas.ts'

const mebibyte = 1_048_576

/** Names of secrets. Native tools receive secrets as environment variables. */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/
/** Names of environment variables. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * The permissions that a skill declares. Without a declaration: no network, and no writes outside a private temporary
 * directory.
 */
export type Permissions = Static<typeof Permissions>
export const Permissions = Type.Object({
  network: Type.Union([
    Type.Boolean(),
    Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { minItems: 1, maxItems: 64, uniqueItems: true })
  ], {
    default: false,
    description: 'Whether it may reach the network, or a list of what it may reach: hosts with or without a port (80 and 443), such as `api.example.org:443` and `*.example.org`'
  }),
  read: Type.Optional(Type.Array(Type.String(), {
    maxItems: 64,
    description: 'Paths it may read, beside its own folder and the programs of the system; without it, all files but secret ones'
  })),
  isolation: Type.Optional(Choice(CONFINEMENTS, {
    description: 'Refuse to run it where this level of isolation, or a stronger one, can\'t be had'
  })),
  memory_bytes_max: Type.Optional(Type.Integer({
    minimum: mebibyte, maximum: 2 ** 40, description: 'Memory of all processes of a run together, in bytes'
  })),
  processes_max: Type.Optional(Type.Integer({
    minimum: 1, maximum: 100_000, description: 'Processes of a run; each thread counts'
  })),
  cpu_ms_max: Type.Optional(Type.Integer({
    minimum: 10, maximum: 2 ** 31,
    description: 'Time of the processor that all processes of a run may use together, in milliseconds'
  })),
  write: Type.Array(
    Type.String(),
    { default: [], maxItems: 64, description: 'Paths it may write to: absolute, beginning with `~`, or a placeholder' }
  ),
  env: Type.Array(
    Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
    { default: [], maxItems: 64, description: 'Environment variables it is given' }
  ),
  secrets: Type.Array(Type.String({ pattern: SECRET_NAME.source }), {
    default: [], maxItems: 64, uniqueItems: true, description: 'Secrets it is given, by name'
  })
}, { additionalProperties: false })

/** A piece of an argument: a literal text, or the name of a parameter whose value is inserted. */
export type CommandPiece = { literal: string } | { parameter: string }
/**
 * A part of a command: an argument, an array parameter that becomes one argument for each item (with `literal` before
 * each of them), a condition, or a group.
 */
export type CommandPart =
  | { kind: 'argument', pieces: CommandPiece[] }
  | { kind: 'spread', parameter: string, literal?: string }
  | { kind: 'when', parameter: string }
  | { kind: 'group', parts: CommandPart[] }

/** The command of a native tool, parsed from the manifest. Plain data. */
export interface CommandTemplate {
  /** The program: a literal text. */
  program: string
  parts: CommandPart[]
  stdin?: CommandPiece[]
  cwd?: CommandPiece[]
  /** Environment variables of the command. A variable is left out when a parameter in its value is absent. */
  env?: Record<string, CommandPiece[]>
  /** Parameters whose values may begin an argument with `-`. */
  dashes: string[]
}

/** How a tool is run again after a failure. Only for tools that are idempotent or read only. */
export type RetryPolicy = Static<typeof RetryPolicy>
export const RetryPolicy = Type.Object({
  attempts: Type.Integer({
    minimum: 2, maximum: 10, description: 'How often it is run at most, the first run included'
  }),
  backoff_ms: Type.Integer({
    default: 500, minimum: 0, maximum: 60_000, description: 'Wait before the second attempt, in milliseconds'
  }),
  factor: Type.Number({
    default: 2, minimum: 1, maximum: 10, description: 'By what the wait is multiplied before each further attempt'
  }),
  max_ms: Type.Integer({
    default: 30_000, minimum: 0, maximum: 600_000, description: 'Longest wait before an attempt, in milliseconds'
  }),
  jitter: Type.Number({
    default: 0.5, minimum: 0, maximum: 1, description: 'The share of each wait that is drawn by chance, 0 to 1'
  })
}, {
  additionalProperties: false, description: 'Run it again when it fails: only a tool that is idempotent or read_only'
})

/** What happens to a run while as many as the limit go on with its key. */
export const WHEN_FULL = ['wait', 'refuse', 'cancel_oldest'] as const

/** How many runs that have something in common go on at once in a process. */
export type ConcurrencyRule = Static<typeof ConcurrencyRule>
export const ConcurrencyRule = Type.Object({
  key: Type.String({
    default: '', maxLength: 1_024,
    description: 'What these runs have in common: a text with placeholders of parameters, such as `{{repository}}`. Without it, all runs count together'
  }),
  limit: Type.Integer({ default: 1, minimum: 1, maximum: 1_000, description: 'How many of them go on at once' }),
  when_full: Choice(WHEN_FULL, {
    default: 'wait',
    description: 'What happens to a further one: `wait` for its turn, `refuse` it, or `cancel_oldest`: it takes the place of the oldest'
  })
}, { additionalProperties: false, description: 'How many runs with the same key go on at once' })

/** A tool inside the kernel: the fields that users see, and the fields that its executor needs. Plain data. */
export interface ToolDefinition extends Tool {
  /** The runtime whose executor runs the tool, when it differs from the runtime of the skill. */
  runtime?: string
  /** How it is run again after a failure; absent: it is run once. */
  retry?: RetryPolicy
  /**
   * What the tool would do, with `{{NAME}}` for a parameter: it runs only when a person has approved it, where no rule
   * of the configuration says otherwise.
   */
  approval?: string
  /** How many runs go on at once; absent: the rule of the skill, if it has one. */
  concurrency?: ConcurrencyRule
  /** Names of the secret parameters: their values are never stored or logged. */
  secrets: string[]
  /** The command of a native tool. */
  command?: CommandTemplate
  /** What the executor needs to run the tool; the source of the skill and the executor agree on its shape. */
  target?: JsonObject
  /** The usage of the tool in one line, for the error message of an invalid call. */
  usage?: string
  /** The requirements of the script that the command runs. */
  script?: ScriptNeeds
}

/** The requirements of a script: used to choose its interpreter and to name missing packages. */
export interface ScriptNeeds {
  language: 'python' | 'node'
  /** Absolute path of the script. */
  file: string
  /** The external modules that the script imports, each with the package to install with the language's manager. */
  modules: Record<string, string>
  /** Whether the script declares its own packages (PEP 723), so that uv installs them when the script runs. */
  inline?: boolean
  /** The command that runs the script, with optional arguments. */
  interpreter: readonly string[]
}

/** A configuration of a skill, beside others, with settings and secrets of its own. */
export interface SkillInstance {
  /** Such as `work` of `github@work`. */
  name: string
  description?: string
  /** Whether a call that names no instance gets this one. At most one instance of a skill is the default. */
  default?: boolean
  /** The definition of this instance, where it differs in more than settings and secrets from the skill. */
  definition?: SkillDefinition
}

/** A loaded skill. Plain data, so that it can be passed between threads. */
export interface SkillDefinition {
  /** The name of the skill. In a run of an instance, the instance too: `github@work`. */
  name: string
  description: string
  version?: string
  runtime: string
  /** The text of SKILL.md, without its frontmatter. */
  instructions?: string
  permissions: Permissions
  /** How many runs of its tools go on at once, those of all tools without a rule of their own together. */
  concurrency?: ConcurrencyRule
  /** Whether the tools of the skill read files that callers name. */
  reads_files?: boolean
  /** The skill whose section of the configuration provides the settings that the skill's own section does not set. */
  config_from?: string
  /** Its configurations, the default first. Absent when the skill has only one, which then has no name. */
  instances?: readonly SkillInstance[]
  /** Absolute path of the skill's folder. */
  directory: string
  /** What the executor needs to run the tools of the skill; its source and the executor agree on the shape. */
  target?: JsonObject
  /** Absolute path of the JavaScript module of a script skill, or of script tools. */
  module?: string
  /**
   * Changes whenever the code of the skill changes. Instances have revisions of their own, since code that was loaded
   * for one must not run for another: `REVISION@INSTANCE`.
   */
  revision: string
  /**
   * Changes whenever any part of the definition changes. When the source of the skill sets a digest, the kernel
   * compares the digests instead of the whole definitions.
   */
  digest?: string
  /** Whether the user marked the skill as trusted. */
  trusted: boolean
  tools: ToolDefinition[]
}

/** The runtime whose executor runs a tool. */
export function runtimeOf (skill: Pick<SkillDefinition, 'runtime'>, tool: Pick<ToolDefinition, 'runtime'>): string {
  return tool.runtime ?? skill.runtime
}
