import { Type, type Static } from 'typebox'
import { compileCheck, type Check, type SkillDefinition, type ToolDefinition } from '../../../kernel/index.ts'

/**
 * How to reach the MCP server of a skill: the `target` of its definition. The source of the skill writes it, and the
 * executor reads it. Texts may hold `{{NAME}}`, which stands for the secret of that name.
 */
export type ServerSpec = Static<typeof ServerSpec>
export const ServerSpec = Type.Object({
  /** The argument vector; the program is absolute, or a name that is looked up in PATH. */
  command: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  env: Type.Record(Type.String(), Type.String()),
  /** Absolute path. */
  cwd: Type.String(),
  url: Type.Optional(Type.String()),
  headers: Type.Record(Type.String(), Type.String()),
  start_ms: Type.Integer(),
  idle_ms: Type.Integer(),
  /** Absolute path of the file with the tools that the server listed last. */
  list_file: Type.String(),
  /** Differs whenever the way to the server does; the list holds it. */
  way: Type.String()
}, { additionalProperties: false })

/** What the executor needs of a tool: its name at the server. */
export type ToolTarget = Static<typeof ToolTarget>
export const ToolTarget = Type.Object({
  name: Type.String()
}, { additionalProperties: false })

let checks: { server: Check, tool: Check } | undefined
const specs = new WeakMap<SkillDefinition, ServerSpec>()

/** The way to the server of a skill. @throws Error when the skill has none, which is a fault of its source */
export function serverOf (skill: SkillDefinition): ServerSpec {
  let spec = specs.get(skill)
  if (spec === undefined) {
    checked('server', skill.target, skill.name)
    specs.set(skill, spec = skill.target as ServerSpec) // the check guarantees the type
  }
  return spec
}

/** The target of a tool. @throws Error when the tool has none, which is a fault of its source */
export function toolTargetOf (tool: ToolDefinition): ToolTarget {
  checked('tool', tool.target, tool.name)
  return tool.target as ToolTarget // the check guarantees the type
}

function checked (kind: 'server' | 'tool', target: unknown, name: string): void {
  checks ??= {
    server: compileCheck(ServerSpec, 'target', { checked: true }),
    tool: compileCheck(ToolTarget, 'target', { checked: true })
  }
  const fault = checks[kind](target)
  if (fault !== undefined) throw new Error(`the ${kind} of ${name} has no usable target: ${fault}`)
}

/** The names of the secrets that a text holds as `{{NAME}}`. */
export function secretsIn (text: string): string[] {
  return [...text.matchAll(placeholder)].map(([, name = '']) => name)
}

/** The text with the values of its secrets. @throws Error naming a secret that is not given */
export function withSecrets (text: string, secrets: Readonly<Record<string, string>>): string {
  return text.replaceAll(placeholder, (_all, name: string) => {
    const value = Object.hasOwn(secrets, name) ? secrets[name] : undefined
    if (value === undefined) throw new Error(`the secret ${name} is not declared in permissions.secrets`)
    return value
  })
}
const placeholder = /\{\{([A-Za-z][A-Za-z0-9_]*)\}\}/g
