import type { Access, Allows } from '../contracts/access.ts'
import { Catalog } from '../skills/catalog.ts'
import { SkilletError } from '../lib/errors.ts'
import { executionNotFound } from '../executions/record.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import type { Operation } from '../contracts/operation.ts'
import type { Services } from '../contracts/services.ts'
import { atOnce } from '../lib/pauses.ts'

/**
 * Restricts the services to the rights of a call, in one place for all operations and transports. Handlers do not check
 * rights: they see only the skills, tools and executions that the caller may see.
 */
export class Authorizer {
  readonly #services: Services
  /** The restricted services of each `Access` object. An entry is released together with its `Access` object. */
  readonly #narrowed = new WeakMap<Access, Services>()

  constructor (services: Services) {
    this.#services = services
  }

  /** @throws SkilletError FORBIDDEN when the rights do not cover the operation */
  enter ({ effect, name }: Pick<Operation, 'effect' | 'name'>, access: Access | undefined): Services {
    if (access === undefined) return this.#services
    const scope = effect === 'read' ? 'read' : 'execute'
    if (!access.scopes.has(scope)) {
      throw new SkilletError('FORBIDDEN', `The key "${access.key}" lacks the scope "${scope}", which ${name} needs`, {
        key: access.key,
        scope
      })
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
      // The results are filtered again, so that the rights of a key do not depend on a correct search plugin.
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

/**
 * Restricts the catalog to the rights of a key. A name outside the rights is FORBIDDEN whether it exists or not, so
 * that the answer reveals nothing about other skills.
 */
function narrowCatalog (whole: Services['catalog'], key: string, allows: Allows): Services['catalog'] {
  const own = new Catalog()
  const narrow = narrower(allows)
  let of: readonly SkillDefinition[] | undefined
  const present = (): Catalog => {
    const { skills } = whole
    if (skills === of) return own
    of = skills // a new list only after skills were replaced
    atOnce(own.replace([{ skills: skills.flatMap(skill => narrow(skill) ?? []), quarantined: [] }]))
    return own
  }
  return {
    get skills () { return present().skills },
    get size () { return present().size },
    // Only the operator may see the names and paths of broken skills.
    quarantined: [],
    warnings: [],
    skill (name) {
      if (!allows(name)) {
        throw new SkilletError('FORBIDDEN', `The key "${key}" has no right to a skill "${name}"`, { key, skill: name })
      }
      return present().skill(name)
    },
    tool (skill_name, tool_name) {
      if (!allows(skill_name, tool_name)) {
        throw new SkilletError('FORBIDDEN', `The key "${key}" has no right to ${skill_name}:${tool_name}`, {
          key, skill: skill_name, tool: tool_name
        })
      }
      return present().tool(skill_name, tool_name)
    },
    check: (skill, tool, parameters) => { whole.check(skill, tool, parameters) }
  }
}

/**
 * Makes a function that returns the part of a skill within the rights, or undefined where no tool of it is. It returns
 * the same object each time, so that no comparison is needed.
 */
function narrower (allows: Allows): (skill: SkillDefinition) => SkillDefinition | undefined {
  const narrowed = new WeakMap<SkillDefinition, SkillDefinition | undefined>()
  return skill => {
    if (!narrowed.has(skill)) {
      const tools = skill.tools.filter(tool => allows(skill.name, tool.name))
      const { digest: _of, ...rest } = skill
      narrowed.set(skill, tools.length === 0 ? undefined : { ...rest, tools })
    }
    return narrowed.get(skill)
  }
}
