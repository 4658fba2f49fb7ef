import type { Access, Allows } from '../contracts/access.ts'
import { instanceName, splitInstance } from '../contracts/names.ts'
import { Catalog } from '../skills/catalog.ts'
import { SkilletError } from '../lib/errors.ts'
import { executionNotFound } from '../executions/record.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import type { Operation } from '../contracts/operation.ts'
import type { Runner, Services } from '../contracts/services.ts'
import type { ExecutionFilter } from '../contracts/storage.ts'
import { atOnce } from '../lib/pauses.ts'
import { requireScope } from './scopes.ts'

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
  enter (
    { effect, name, scope: own }: Pick<Operation, 'effect' | 'name' | 'scope'>, access: Access | undefined
  ): Services {
    if (access === undefined) return this.#services
    requireScope(access, own ?? (effect === 'read' ? 'read' : 'execute'), name)
    if (access.allows === undefined) return this.#services
    let narrowed = this.#narrowed.get(access)
    if (narrowed === undefined) this.#narrowed.set(access, narrowed = narrow(this.#services, access.key, access.allows))
    return narrowed
  }
}

function narrow (services: Services, key: string, allows: Allows): Services {
  const { catalog, search, storage, executions, live, outputs } = services
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
        const { mode, results } = await search.search(query, { ...options, allows: allows.ofSome }, signal)
        const { skills } = own
        return {
          mode,
          results: results.filter(({ skill_name, tool_name }) => skills.find(({ name }) => name === skill_name)
            ?.tools.some(({ name }) => name === tool_name))
        }
      }
    },
    storage: {
      get,
      list: query => storage.list({ ...query, allows: both(allows, query.allows) }),
      visit: (filter, visitorOf) => storage.visit({ ...filter, allows: both(allows, filter.allows) }, visitorOf),
      ...narrowFind(storage, allows)
    },
    executions: narrowRunner(executions, get),
    live: narrowLive(live, get, key, allows),
    outputs: {
      ...outputs,
      async open (id) {
        if (await get(id) === undefined) throw executionNotFound(id)
        return await outputs.open(id)
      }
    }
  } satisfies Services)
}

/** Searches only in the texts that a key may read, where the storage can search. */
function narrowFind (storage: Services['storage'], allows: Allows): Pick<Services['storage'], 'find'> {
  if (storage.find === undefined) return {}
  const find = storage.find.bind(storage)
  return { find: (words, query) => find(words, { ...query, allows: both(allows, query.allows) }) }
}

/** What both filters let pass. */
function both (rights: Allows, filter: ExecutionFilter['allows']): NonNullable<ExecutionFilter['allows']> {
  if (filter === undefined) return rights
  return (skill_name, tool_name) => rights(skill_name, tool_name) && filter(skill_name, tool_name)
}

/** Restricts the runner to the executions that a key may see. */
function narrowRunner (executions: Runner, get: Services['storage']['get']): Runner {
  return {
    run: (job, signal, accepted) => executions.run(job, signal, accepted),
    runOnce: (job, once, signal, accepted) => executions.runOnce(job, once, signal, accepted),
    submit: (job, options, once) => executions.submit(job, options, once),
    async start (id, job) {
      if (await get(id) === undefined) throw executionNotFound(id)
      return await executions.start(id, job)
    },
    async wait (id, wait_ms, signal) {
      return await get(id) === undefined ? undefined : await executions.wait(id, wait_ms, signal)
    },
    reasonOf: id => executions.reasonOf(id),
    async cancel (id, signal) {
      if (await get(id) === undefined) throw executionNotFound(id)
      return await executions.cancel(id, signal)
    },
    async decide (id, decision, signal) {
      if (await get(id) === undefined) throw executionNotFound(id)
      return await executions.decide(id, decision, signal)
    }
  }
}

function narrowLive (
  whole: Services['live'], get: Services['storage']['get'], key: string, allows: Allows
): Services['live'] {
  return {
    async follow (id, after, signal) {
      if (await get(id) === undefined) throw executionNotFound(id)
      return await whole.follow(id, after, signal)
    },
    watch (filter, after, signal) {
      const { skill_name } = filter
      if (skill_name !== undefined && !allows(skill_name)) {
        throw forbidden(`a skill "${skill_name}"`, { key, skill: skill_name })
      }
      return whole.watch({ ...filter, allows }, after, signal)
    }
  }
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
  /** Whether the caller may use a skill, or a tool of it, in some instance. */
  const has = (skill: string, tool?: string): boolean => present().skills.some(({ name, tools }) =>
    name === skill && (tool === undefined || tools.some(({ name }) => name === tool)))
  return {
    get skills () { return present().skills },
    get size () { return present().size },
    // Only the operator may see the names and paths of broken skills.
    quarantined: [],
    warnings: [],
    skill (name) {
      if (!allows(name) && !has(name)) throw forbidden(`a skill "${name}"`, { key, skill: name })
      const skill = present().skill(name)
      return splitInstance(skill.name).instance === undefined ? skill : narrow(skill) ?? skill
    },
    tool (skill_name, tool_name) {
      const found = allows(skill_name, tool_name) || has(skill_name, tool_name)
        ? present().tool(skill_name, tool_name)
        : undefined
      // A skill without a named instance is run as one of its instances, to which the key needs the right.
      if (found === undefined || !allows(found.skill.name, found.tool.name)) {
        throw forbidden(`${skill_name}:${tool_name}`, { key, skill: skill_name, tool: tool_name })
      }
      return found
    },
    check: (skill, tool, parameters) => { whole.check(skill, tool, parameters) }
  }
}

function forbidden (what: string, details: { key: string, skill: string, tool?: string }): SkilletError {
  return new SkilletError('FORBIDDEN', `The key "${details.key}" has no right to ${what}`, details)
}

/**
 * Makes a function that returns the part of a skill within the rights, or undefined where no tool of it is. It returns
 * the same object each time, so that no comparison is needed.
 */
function narrower (allows: Allows): (skill: SkillDefinition) => SkillDefinition | undefined {
  const narrowed = new WeakMap<SkillDefinition, SkillDefinition | undefined>()
  return skill => {
    if (!narrowed.has(skill)) {
      narrowed.set(skill, narrowedTo(allows, skill))
    }
    return narrowed.get(skill)
  }
}

function narrowedTo (allows: Allows, skill: SkillDefinition): SkillDefinition | undefined {
  const instances = skill.instances?.filter(instance => {
    const name = instanceName(skill.name, instance.name)
    return skill.tools.some(tool => allows(name, tool.name))
  })
  const names = instances?.map(({ name }) => instanceName(skill.name, name)) ?? [skill.name]
  const tools = skill.tools.filter(tool => names.some(name => allows(name, tool.name)))
  if (tools.length === 0) return undefined
  const { digest: _of, ...rest } = skill
  return { ...rest, tools, ...(instances !== undefined && { instances }) }
}
