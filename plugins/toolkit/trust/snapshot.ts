import { createHash } from 'node:crypto'
import { isObject, type SkillDefinition, type ToolDefinition } from '../../../kernel/index.ts'

/** A tool as it was when its skill was trusted, to tell later what changed. */
export interface ToolSnapshot {
  description: string
  /** The schema of each parameter, as canonical JSON, by name; required ones begin with `required `. */
  parameters: Record<string, string>
  /** A digest of everything else: runtime, command, time limit, annotations. */
  rest: string
}

/** What callers and agents see of a skill, as it was when it was trusted. */
export interface Snapshot {
  description: string
  /** A digest of the instructions. */
  instructions: string
  /** The permissions, as canonical JSON, by name. */
  permissions: Record<string, string>
  tools: Record<string, ToolSnapshot>
}

/** The parts of a skill that a snapshot is made of. */
export type Described = Pick<SkillDefinition, 'description' | 'instructions' | 'permissions' | 'tools'>

/** The snapshot of a skill as it is now. */
export function snapshotOf ({ description, instructions = '', permissions, tools }: Described): Snapshot {
  return {
    description,
    instructions: digest(instructions),
    permissions: mapped(permissions, canonical),
    tools: Object.fromEntries(tools.map(tool => [tool.name, toolSnapshot(tool)]))
  }
}

function toolSnapshot (tool: ToolDefinition): ToolSnapshot {
  const { name: _name, description, parameters: _parameters, input_schema, script: _script, ...rest } = tool
  const { properties, required, ...others } = input_schema
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name)
  const parameters = Object.entries(isObject(properties) ? properties : {})
    .map(([name, schema]) => [name, `${isRequired(name) ? 'required ' : ''}${canonical(schema)}`])
  return { description, parameters: Object.fromEntries(parameters), rest: digest(canonical({ ...rest, others })) }
}

/** A change of a part; `before` and `after` where the texts are short enough to be shown. */
export interface Change { what: string, before?: string, after?: string }

/** What differs between two states of a skill, in the order in which a reader cares. */
export function changesOf (before: Snapshot, after: Snapshot): Change[] {
  return [
    ...compare('permission', before.permissions, after.permissions, (name, a, b) => {
      return [{ what: `permission ${name} changed`, before: a, after: b }]
    }),
    ...compare('tool', before.tools, after.tools, toolChanges),
    ...(before.instructions === after.instructions ? [] : [{ what: 'the instructions changed' }]),
    ...texts('the description changed', before.description, after.description)
  ]
}

function toolChanges (name: string, before: ToolSnapshot, after: ToolSnapshot): Change[] {
  return [
    ...compare('parameter', prefixed(name, before.parameters), prefixed(name, after.parameters), (parameter, a, b) => {
      return [{ what: `parameter ${parameter} changed`, before: a, after: b }]
    }),
    ...texts(`the description of tool ${name} changed`, before.description, after.description),
    ...(before.rest === after.rest ? [] : [{ what: `what tool ${name} runs changed` }])
  ]
}

/** The values, with the name of their tool before each name. */
function prefixed (tool: string, values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${tool}:${name}`, value]))
}

function texts (subject: string, before: string, after: string): Change[] {
  return before === after ? [] : [{ what: subject, before, after }]
}

/** The files that differ between two lists of digests by path. */
export function fileChanges (
  before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>
): Change[] {
  return compare('file', before, after, path => [{ what: `file ${path} changed` }])
}

/** The changes of named parts. */
function compare<T> (
  kind: string, before: Readonly<Record<string, T>>, after: Readonly<Record<string, T>>,
  changed: (name: string, before: T, after: T) => Change[]
): Change[] {
  const [old, present] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const changes: Change[] = []
  for (const [name, value] of old) {
    const now = present.get(name)
    if (now === undefined) changes.push({ what: `${kind} ${name} removed` })
    else if (canonical(now) !== canonical(value)) changes.push(...changed(name, value, now))
  }
  for (const name of present.keys()) if (!old.has(name)) changes.push({ what: `${kind} ${name} added` })
  return changes
}

/** The changes in one line, at most this many. */
export function inWords (changes: readonly Change[], most = 8): string {
  const shown = changes.slice(0, changes.length > most ? most - 1 : most).map(({ what }) => what)
  return shown.join(', ') + (changes.length > shown.length ? ` and ${changes.length - shown.length} more changes` : '')
}

function mapped (values: object, map: (value: unknown) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
}

/** JSON with sorted keys. */
function canonical (value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => isObject(inner)
    ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
    : inner) ?? 'null'
}

function digest (text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
