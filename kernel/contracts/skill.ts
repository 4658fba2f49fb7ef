import { Type, type Static } from 'typebox'
import type { Tool } from './schemas.ts'

/** Names of secrets: native tools get them as environment variables. */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/
/** A variable's name. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** What a skill says it needs. Absent means: no network, no writes outside a private temporary directory. */
export type Permissions = Static<typeof Permissions>
export const Permissions = Type.Object({
  network: Type.Boolean({ default: false, description: 'May reach the network' }),
  write: Type.Array(Type.String(), { default: [], maxItems: 64, description: 'Paths it may write to: absolute, beginning with `~`, or a placeholder' }),
  env: Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), { default: [], maxItems: 64, description: 'Environment variables it is given' }),
  secrets: Type.Array(Type.String({ pattern: SECRET_NAME.source }), { default: [], maxItems: 64, uniqueItems: true, description: 'Secrets it is given, by name' })
}, { additionalProperties: false })

/** Piece of an argument: a literal, or the name of a parameter whose value stands there. */
export type CommandPiece = { literal: string } | { parameter: string }
/**
 * An argument, an array parameter spread to one argument each (`literal` before each of them), a condition, or a group.
 */
export type CommandPart =
  | { kind: 'argument', pieces: CommandPiece[] }
  | { kind: 'spread', parameter: string, literal?: string }
  | { kind: 'when', parameter: string }
  | { kind: 'group', parts: CommandPart[] }

/** A native tool's command, parsed from its manifest. Plain data. */
export interface CommandTemplate {
  /** The program: a literal. */
  program: string
  parts: CommandPart[]
  stdin?: CommandPiece[]
  cwd?: CommandPiece[]
  /** Variables that are set for the command; one is left out when a parameter in it is absent. */
  env?: Record<string, CommandPiece[]>
  /** Parameters whose values may begin an argument with `-`. */
  dashes: string[]
}

/** A tool as the kernel holds it: what users see, and what its executor needs. Plain data. */
export interface ToolDefinition extends Tool {
  /** The runtime whose executor runs it, where that is not the skill's. */
  runtime?: string
  /** Names of the parameters whose values are never stored or logged. */
  secrets: string[]
  /** What a native tool runs. */
  command?: CommandTemplate
  /** How it is called, in one line, for whoever called it wrongly. */
  usage?: string
  /** What the script needs that the command runs. */
  script?: ScriptNeeds
}

/** What a script needs, to choose what runs it and to name what is missing. */
export interface ScriptNeeds {
  language: 'python' | 'node'
  /** Absolute path of the script. */
  file: string
  /** The modules that it imports from elsewhere, each with what the language's package manager installs for it. */
  modules: Record<string, string>
  /** Whether the script itself names its packages (PEP 723), so that uv installs them when it runs. */
  inline?: boolean
  /** What runs it: a command, perhaps with arguments. */
  interpreter: readonly string[]
}

/** A loaded skill: plain data, so that it crosses thread borders. */
export interface SkillDefinition {
  name: string
  description: string
  version?: string
  runtime: string
  /** The text of SKILL.md, without its frontmatter. */
  instructions?: string
  permissions: Permissions
  /** Whether its tools read files that callers name. */
  reads_files?: boolean
  /** The skill whose section of the configuration stands behind its own. */
  config_from?: string
  /** Absolute path of the skill's folder. */
  directory: string
  /** Absolute path of the JavaScript module of a script skill, or of script tools. */
  module?: string
  /** Differs whenever the skill's code does. */
  revision: string
  /**
   * Differs whenever anything of the definition does; where its source gives one, it is compared instead of all that
   * the definition holds.
   */
  digest?: string
  /** Whether the user marked it as trusted. */
  trusted: boolean
  tools: ToolDefinition[]
}

/** The runtime whose executor runs a tool. */
export function runtimeOf (skill: Pick<SkillDefinition, 'runtime'>, tool: Pick<ToolDefinition, 'runtime'>): string {
  return tool.runtime ?? skill.runtime
}
