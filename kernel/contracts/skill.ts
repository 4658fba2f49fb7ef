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
    minimum: mebibyte, maximum: 2 ** 40, description: 'Memory of all processes of a command together, in bytes'
  })),
  processes_max: Type.Optional(Type.Integer({
    minimum: 1, maximum: 100_000, description: 'Processes of a command; each thread counts'
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

/** A tool inside the kernel: the fields that users see, and the fields that its executor needs. Plain data. */
export interface ToolDefinition extends Tool {
  /** The runtime whose executor runs the tool, when it differs from the runtime of the skill. */
  runtime?: string
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

/** A loaded skill. Plain data, so that it can be passed between threads. */
export interface SkillDefinition {
  name: string
  description: string
  version?: string
  runtime: string
  /** The text of SKILL.md, without its frontmatter. */
  instructions?: string
  permissions: Permissions
  /** Whether the tools of the skill read files that callers name. */
  reads_files?: boolean
  /** The skill whose section of the configuration provides the settings that the skill's own section does not set. */
  config_from?: string
  /** Absolute path of the skill's folder. */
  directory: string
  /** What the executor needs to run the tools of the skill; its source and the executor agree on the shape. */
  target?: JsonObject
  /** Absolute path of the JavaScript module of a script skill, or of script tools. */
  module?: string
  /** Changes whenever the code of the skill changes. */
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
