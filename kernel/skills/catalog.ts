import { isDeepStrictEqual } from 'node:util'
import type { LoadedSkills } from '../contracts/skill-source.ts'
import { SkilletError } from '../lib/errors.ts'
import { splitInstance } from '../contracts/names.ts'
import type { SkillDefinition, ToolDefinition } from '../contracts/skill.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { Steps } from '../lib/pauses.ts'
import type { JsonObject, Skill } from '../contracts/schemas.ts'
import type { QuarantinedSkill, SkillWarning } from '../contracts/status.ts'
import { chosenDefinition, definitionOf, definitionsOf, instanceNotFound, instanceSummaries } from './instances.ts'
import { compileCheck, type Check } from '../schema/validation.ts'

/** The state of all skills at one moment. A snapshot is never changed, only replaced as a whole. */
interface Snapshot {
  /** Sorted by name; a new list only after skills were replaced. */
  readonly list: readonly SkillDefinition[]
  readonly skills: ReadonlyMap<string, SkillDefinition>
  readonly quarantined: readonly QuarantinedSkill[]
  readonly warnings: readonly SkillWarning[]
}

const empty: Snapshot = { list: [], skills: new Map(), quarantined: [], warnings: [] }

/** The names of the skills that a replacement added, changed and removed, sorted. */
export interface SkillChanges { added: string[], changed: string[], removed: string[] }

/** The skills that can be run. Names are looked up in maps, so that a name like `constructor` is not found. */
export class Catalog {
  #snapshot = empty
  /** The checks of parameters: compiled at the first call of a tool, and released together with its definition. */
  readonly #checks = new WeakMap<ToolDefinition, Check>()
  /** The tools of definitions by name: made at the first call, and released together with the definition. */
  readonly #tools = new WeakMap<SkillDefinition, ReadonlyMap<string, ToolDefinition>>()

  /** The skills, sorted by name. The same list object until skills are replaced. */
  get skills (): readonly SkillDefinition[] {
    return this.#snapshot.list
  }

  /**
   * Replaces all skills with the results of the sources; a skill of a later source shadows a skill of the same name
   * from an earlier source. Running executions keep their definitions. An unchanged skill keeps its definition object,
   * and all values derived from it. The old skills are served until the last step. The steps of two replacements must
   * not be mixed.
   */
  * replace (sources: readonly LoadedSkills[]): Steps<SkillChanges> {
    const before = this.#snapshot
    const loaded = new Map<string, SkillDefinition>()
    for (const source of sources) for (const skill of source.skills) loaded.set(skill.name, skill)
    const changes: SkillChanges = {
      added: [],
      changed: [],
      removed: before.list.flatMap(({ name }) => loaded.has(name) ? [] : [name])
    }
    const list: SkillDefinition[] = []
    for (const skill of [...loaded.values()].sort((a, b) => a.name < b.name ? -1 : 1)) {
      const old = before.skills.get(skill.name)
      const kept = old !== undefined && (yield* isSame(old, skill)) ? old : skill
      if (kept !== old) changes[old === undefined ? 'added' : 'changed'].push(skill.name)
      list.push(kept)
      yield
    }
    const same = changes.added.length + changes.changed.length + changes.removed.length === 0
    this.#snapshot = {
      ...before,
      ...(!same && { list, skills: new Map(list.map(skill => [skill.name, skill])) }),
      quarantined: sources.flatMap(source => source.quarantined),
      warnings: sources.flatMap(source => source.warnings ?? [])
    }
    return changes
  }

  /** The definitions of all skills of a runtime; of a skill with instances, one for each. */
  definitionsFor (runtime: string): SkillDefinition[] {
    return this.#snapshot.list.filter(skill => skill.runtime === runtime).flatMap(definitionsOf)
  }

  get size (): number {
    return this.#snapshot.skills.size
  }

  get quarantined (): readonly QuarantinedSkill[] {
    return this.#snapshot.quarantined
  }

  get warnings (): readonly SkillWarning[] {
    return this.#snapshot.warnings
  }

  skill (asked: string): SkillDefinition {
    const { skill: name, instance } = splitInstance(asked)
    const skill = this.#snapshot.skills.get(name)
    if (skill !== undefined) {
      const definition = instance === undefined ? skill : definitionOf(skill, instance)
      if (definition === undefined) throw instanceNotFound(skill, instance ?? '')
      return definition
    }
    const broken = this.#snapshot.quarantined.find(candidate => candidate.name === name && candidate.tool === undefined)
    const why = broken === undefined
      ? didYouMean(name, this.#snapshot.skills.keys())
      : `: it could not be loaded: ${broken.error}`
    throw new SkilletError('SKILL_NOT_FOUND', `There is no skill "${name}"${why}`, { skill: asked })
  }

  tool (skill_name: string, tool_name: string): { skill: SkillDefinition, tool: ToolDefinition } {
    const asked = this.skill(skill_name)
    const skill = chosenDefinition(asked)
    const tools = this.#toolsOf(skill)
    const tool = tools.get(tool_name)
    if (tool !== undefined) return { skill, tool }
    const name = splitInstance(skill_name).skill
    const broken = this.#snapshot.quarantined.find(candidate =>
      candidate.name === name && candidate.tool === tool_name)
    const why = broken === undefined
      ? didYouMean(tool_name, tools.keys())
      : `: it could not be loaded: ${broken.error}`
    throw new SkilletError('TOOL_NOT_FOUND', `The skill "${skill_name}" has no tool "${tool_name}"${why}`, {
      skill: skill_name,
      tool: tool_name
    })
  }

  #toolsOf (skill: SkillDefinition): ReadonlyMap<string, ToolDefinition> {
    let tools = this.#tools.get(skill)
    if (tools === undefined) this.#tools.set(skill, tools = new Map(skill.tools.map(tool => [tool.name, tool])))
    return tools
  }

  /**
   * Checks the parameters of a call and fills in their default values.
   * @throws SkilletError INVALID_PARAMETERS, with the error and its place
   */
  check (skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject): void {
    let check = this.#checks.get(tool)
    if (check === undefined) {
      this.#checks.set(tool, check = compileCheck(tool.input_schema, 'parameters', { checked: true }))
    }
    const fault = check(parameters)
    if (fault === undefined) return
    const { usage } = tool
    const message = `${withoutInside(tool, fault)}${usage === undefined ? '' : `; usage: ${usage}`}`
    throw new SkilletError('INVALID_PARAMETERS', message, {
      skill: skill.name, tool: tool.name, ...(usage !== undefined && { usage })
    })
  }
}

/**
 * Whether two definitions of a skill are equal. Compares their digests when both have one, otherwise all their fields.
 */
function * isSame (a: SkillDefinition, b: SkillDefinition): Steps<boolean> {
  if (a === b) return true
  if (a.digest !== undefined && b.digest !== undefined) return a.digest === b.digest
  if (a.tools.length !== b.tools.length || !isDeepStrictEqual({ ...a, tools: [] }, { ...b, tools: [] })) return false
  for (const [i, tool] of a.tools.entries()) {
    if (!isDeepStrictEqual(tool, b.tools[i])) return false
    yield
  }
  return true
}

/**
 * The error message for parameters, without the inside of a secret parameter: such a message would contain keys of the
 * secret value.
 */
function withoutInside ({ secrets }: ToolDefinition, fault: string): string {
  const name = secrets.find(name => {
    const at = `parameters/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` // as in a JSON pointer
    return fault.startsWith(`${at}/`)
      || fault.startsWith(`${at} has an unknown field`)
      || fault.startsWith(`${at} has a field`)
  })
  return name === undefined ? fault : `parameters/${name} holds something that does not fit its description`
}

/** A skill as users see it. */
export function publicSkill (skill: SkillDefinition): Skill {
  const { name, description, version, runtime, tools } = skill
  const instances = instanceSummaries(skill)
  return {
    name,
    description,
    ...(version !== undefined && { version }),
    runtime,
    ...(instances !== undefined && { instances }),
    tools: tools.map(({ name, description, parameters, input_schema, timeout_ms, annotations }) => ({
      name, description, parameters, input_schema,
      ...(timeout_ms !== undefined && { timeout_ms }),
      ...(annotations !== undefined && { annotations })
    }))
  }
}
