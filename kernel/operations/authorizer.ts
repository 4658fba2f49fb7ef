import type { Access, Allows } from '../contracts/access.ts'
import { Catalog } from '../skills/catalog.ts'
import { SkilletError } from '../lib/errors.ts'
import { executionNotFound } from '../executions/record.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import type { Operation } from '../contracts/operation.ts'
import type { Services } from '../contracts/services.ts'
import { atOnce } from '../lib/pauses.ts'

/**
 * Narrows services to the rights of a call: once, for all operations and transports. Handlers know nothing of rights,
 * and see only the skills, tools and executions that the caller may.
 */
export class Authorizer {
  readonly #services: Services
  /** Per set of rights: one that is changed or revoked takes its entry with it. */
  readonly #narrowed = new WeakMap<Access, Services>()

  constructor (services: Services) {
    this.#services = services
  }

  /** @throws SkilletError FORBIDDEN when the rights do not cover the operation */
  enter ({ effect, name }: Pick<Operation, 'effect' | 'name'>, access: Access | undefined): Services {
    if (access === undefined) return this.#services
    const scope = effect === 'read' ? 'read' : 'execute'
    if (!access.scopes.has(scope)) {
      throw new SkilletError('FORBIDDEN', `The key "${access.key}" lacks the scope "${scope}", which ${name} needs`, { key: access.key, scope })
    }
    if (access.allows === undefined) return this.#services
    let narrowed = this.#narrowed.get(access)
    if (narrowed === undefined) this.#narrowed.set(access, narrowed = narrow(this.#services, access.key, access.allows))
    return narrowed
  }
}

function narrow (services: Services, key: string, allows: Allows): Services {
  const { catalog, search, storage, executions } = services
  const get: Services['storage']['get'] = async id => {
    const stored = await storage.get(id)
    return stored !== undefined && allows(stored.execution.skill_name, stored.execution.tool_name) ? stored : undefined
  }
  const own = narrowCatalog(catalog, key, allows)
  return Object.freeze({
    ...services,
    catalog: own,
    search: {
      // Filtered again: what a key may see does not hang on a plugin's care.
      async search (query, options, signal) {
        const { mode, results } = await search.search(query, { ...options, allows }, signal)
        return { mode, results: results.filter(({ skill_name, tool_name }) => allows(skill_name, tool_name)) }
      }
    },
    storage: { get, list: query => storage.list({ ...query, allows }) },
    executions: {
      run: (job, signal, accepted) => executions.run(job, signal, accepted),
      async cancel (id, signal) {
        if (await get(id) === undefined) throw executionNotFound(id)
        return await executions.cancel(id, signal)
      }
    }
  } satisfies Services)
}

/** A name outside the rights is FORBIDDEN whether it exists or not, so that the answer tells nothing of others' skills. */
function narrowCatalog (whole: Services['catalog'], key: string, allows: Allows): Services['catalog'] {
  const own = new Catalog()
  /** What the key may see of a skill; undefined where that is nothing. The same as long as the skill is, so that it need not be compared. */
  const narrowed = new WeakMap<SkillDefinition, SkillDefinition | undefined>()
  const narrow = (skill: SkillDefinition): SkillDefinition | undefined => {
    if (!narrowed.has(skill)) {
      const tools = skill.tools.filter(tool => allows(skill.name, tool.name))
      const { digest: _of, ...rest } = skill
      narrowed.set(skill, tools.length === 0 ? undefined : { ...rest, tools })
    }
    return narrowed.get(skill)
  }
  let of: readonly SkillDefinition[] | undefined
  const present = (): Catalog => {
    const { skills } = whole
    if (skills === of) return own
    of = skills // another list only after a reload
    atOnce(own.replace([{ skills: skills.flatMap(skill => narrow(skill) ?? []), quarantined: [] }]))
    return own
  }
  return {
    get skills () { return present().skills },
    get size () { return present().size },
    // Names and paths of broken skills are the operator's.
    quarantined: [],
    warnings: [],
    skill (name) {
      if (!allows(name)) throw new SkilletError('FORBIDDEN', `The key "${key}" has no right to a skill "${name}"`, { key, skill: name })
      return present().skill(name)
    },
    tool (skill_name, tool_name) {
      if (!allows(skill_name, tool_name)) {
        throw new SkilletError('FORBIDDEN', `The key "${key}" has no right to ${skill_name}:${tool_name}`, { key, skill: skill_name, tool: tool_name })
      }
      return present().tool(skill_name, tool_name)
    },
    check: (skill, tool, parameters) => { whole.check(skill, tool, parameters) }
  }
}
