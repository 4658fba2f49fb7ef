import type { LoadedSkills } from './contracts.ts'
import { SkilletError } from './errors.ts'
import type { SkillDefinition, ToolDefinition } from './manifest.ts'
import { didYouMean } from './nearest.ts'
import type { JsonObject, QuarantinedSkill, Skill } from './schemas.ts'
import { compileCheck, type Check } from './validation.ts'

/** What is known of the skills at one moment: never changed, replaced whole. */
interface Snapshot {
  /** By name; another list only after a reload. */
  readonly list: readonly SkillDefinition[]
  readonly skills: ReadonlyMap<string, SkillDefinition>
  readonly tools: ReadonlyMap<SkillDefinition, ReadonlyMap<string, ToolDefinition>>
  readonly quarantined: readonly QuarantinedSkill[]
}

const empty: Snapshot = { list: [], skills: new Map(), tools: new Map(), quarantined: [] }

/** The skills that can be run. Names are looked up in maps, so that `constructor` is simply not found. */
export class Catalog {
  #snapshot = empty
  /** Compiled when a tool is first called; dropped with the definition they belong to. */
  readonly #checks = new WeakMap<ToolDefinition, Check>()

  /** Replaces everything by what the sources gave, later sources shadowing earlier ones. Running executions keep their definitions. */
  replace (sources: readonly LoadedSkills[]): void {
    const skills = new Map<string, SkillDefinition>()
    for (const source of sources) for (const skill of source.skills) skills.set(skill.name, skill)
    const list = [...skills.values()].sort((a, b) => a.name < b.name ? -1 : 1)
    this.#snapshot = {
      list,
      skills: new Map(list.map(skill => [skill.name, skill])),
      tools: new Map([...skills.values()].map(skill => [skill, new Map(skill.tools.map(tool => [tool.name, tool]))])),
      quarantined: sources.flatMap(source => source.quarantined)
    }
  }

  /** By name. The same list until skills are replaced. */
  get skills (): readonly SkillDefinition[] {
    return this.#snapshot.list
  }

  get size (): number {
    return this.#snapshot.skills.size
  }

  get quarantined (): readonly QuarantinedSkill[] {
    return this.#snapshot.quarantined
  }

  /** @throws SkilletError SKILL_NOT_FOUND, naming the nearest one */
  skill (name: string): SkillDefinition {
    const skill = this.#snapshot.skills.get(name)
    if (skill !== undefined) return skill
    const broken = this.#snapshot.quarantined.find(candidate => candidate.name === name)
    const why = broken === undefined ? didYouMean(name, this.#snapshot.skills.keys()) : `: it could not be loaded: ${broken.error}`
    throw new SkilletError('SKILL_NOT_FOUND', `There is no skill "${name}"${why}`, { skill: name })
  }

  /** @throws SkilletError SKILL_NOT_FOUND or TOOL_NOT_FOUND, naming the nearest one */
  tool (skill_name: string, tool_name: string): { skill: SkillDefinition, tool: ToolDefinition } {
    const skill = this.skill(skill_name)
    const tools = this.#snapshot.tools.get(skill)
    const tool = tools?.get(tool_name)
    if (tool !== undefined) return { skill, tool }
    throw new SkilletError('TOOL_NOT_FOUND', `The skill "${skill_name}" has no tool "${tool_name}"${didYouMean(tool_name, tools?.keys() ?? [])}`, { skill: skill_name, tool: tool_name })
  }

  /**
   * Checks the parameters of a call and fills in their defaults.
   * @throws SkilletError INVALID_PARAMETERS, saying what is wrong and where
   */
  check (skill: SkillDefinition, tool: ToolDefinition, parameters: JsonObject): void {
    let check = this.#checks.get(tool)
    if (check === undefined) this.#checks.set(tool, check = compileCheck(tool.input_schema, 'parameters', { checked: true }))
    const wrong = check(parameters)
    if (wrong !== undefined) throw new SkilletError('INVALID_PARAMETERS', wrong, { skill: skill.name, tool: tool.name })
  }
}

/** A skill as users see it. */
export function publicSkill ({ name, description, version, runtime, tools }: SkillDefinition): Skill {
  return {
    name,
    description,
    ...(version !== undefined && { version }),
    runtime,
    tools: tools.map(({ name, description, parameters, input_schema, timeout_ms }) =>
      ({ name, description, parameters, input_schema, ...(timeout_ms !== undefined && { timeout_ms }) }))
  }
}
