import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Outcome } from '../contracts/executor.ts'
import type { Job, Once } from '../contracts/services.ts'
import type { ConcurrencyRule } from '../contracts/skill.ts'
import { SkilletError } from '../lib/errors.ts'
import { List, type Listed } from '../lib/list.ts'
import { timerMax_ms } from '../lib/time.ts'
import { fillKey } from '../schema/concurrency-key.ts'
import type { ActiveExecution } from './active-execution.ts'
import type { ActiveExecutions } from './active-executions.ts'
import { fail } from './conclude.ts'
import { expiredMessage } from './record.ts'

/** The longest key in a record, in characters. */
const keyShownMax = 256

/** An execution that has a place in its group, or waits for one. */
class Member implements Listed<Member> {
  list: object | undefined
  previous: Member | undefined
  next: Member | undefined
  readonly active: ActiveExecution
  readonly group: Group
  readonly entered_ms = performance.now()
  /** The idempotency key of its request, as the storage keeps it. */
  onceKey: string | undefined
  /** Starts it, once it has a place. */
  start: (() => void) | undefined

  constructor (active: ActiveExecution, group: Group) {
    this.active = active
    this.group = group
  }
}

/** The executions that count together, in the order in which they came. */
interface Group {
  readonly id: string
  limit: number
  readonly placed: List<Member>
  readonly waiting: List<Member>
}

interface Dependencies {
  config: Config
  bus: Bus
  active: ActiveExecutions
}

/**
 * Limits how many executions go on at once, where their tool or skill has a rule for that. It counts the executions of
 * this process. One without a rule passes by at the cost of looking for the rule.
 */
export class Concurrency {
  readonly #dependencies: Dependencies
  readonly #groups = new Map<string, Group>()
  readonly #members = new Map<ActiveExecution, Member>()

  constructor (dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /**
   * @param once the idempotency key of the request: a repeated request is let in, since it does not run again
   * @throws SkilletError OVERLOADED when the job would have to wait, and its rule says that it is refused then
   */
  admit (job: Job, once?: Once): void {
    const rule = ruleOf(job)
    if (rule?.when_full !== 'refuse') return
    const group = this.#groups.get(groupId(job, rule))
    if (group === undefined || group.placed.size + group.waiting.size < rule.limit) return
    if (once !== undefined) for (const { onceKey } of group.placed) if (onceKey === once.key) return
    const { limit, key } = rule
    const skill = job.skill.name
    const tool = job.tool.name
    const same = key === '' ? '' : ` with the same ${key}`
    const many = `${executions(limit)} of ${placeOf(job)}${same} ${limit === 1 ? 'runs' : 'run'}`
    const text = `${many}, as many as its concurrency rule allows; try again when one has ended`
    throw new SkilletError('OVERLOADED', text, { skill, tool, concurrency_limit: limit })
  }

  /** Takes a place for an execution that was admitted and is not stored yet, so that no other one gets it. */
  reserve (active: ActiveExecution, once: Once | undefined): void {
    if (ruleOf(active.job)?.when_full !== 'refuse') return
    this.enter(active)
    const member = this.#members.get(active)
    if (member !== undefined) member.onceKey = once?.key
  }

  /**
   * Lets an execution wait for its turn. Whoever calls this calls `leave` when the execution has ended.
   * @param start callback: called once, at once or when the execution has a place
   */
  enter (active: ActiveExecution, start?: () => void): void {
    const rule = ruleOf(active.job)
    if (rule === undefined) return start?.()
    const member = this.#members.get(active) ?? this.#join(active, rule)
    if (member.group.placed.has(member)) start?.()
    else if (start !== undefined) {
      member.start = start
      this.#dependencies.active.saveAgain(active) // its record says for what it waits
    }
  }

  /** Gives the place of an execution to the next one. */
  leave (active: ActiveExecution): void {
    const member = this.#members.get(active)
    if (member === undefined) return
    this.#members.delete(active)
    const { group } = member
    if (!group.placed.delete(member)) group.waiting.delete(member)
    if (group.placed.size + group.waiting.size === 0) this.#groups.delete(group.id)
    else this.#placeNext(group)
  }

  /** Runs an execution when it has a place, and then gives the place away. */
  async run (active: ActiveExecution, run: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    try {
      if (await this.#hasPlace(active)) return await run()
      return { status: 'cancelled', output: '', output_truncated: false }
    } finally {
      this.leave(active)
    }
  }

  /** Why an execution waits; undefined when it does not wait for others with its key. */
  reasonOf (active: ActiveExecution): string | undefined {
    const member = this.#members.get(active)
    if (member === undefined || !member.group.waiting.has(member)) return undefined
    const { placed, waiting, limit } = member.group
    let before = 0
    for (const other of waiting) {
      if (other === member) break
      before++
    }
    const key = active.execution.concurrency?.key ?? ''
    const same = key === '' ? '' : ` with the concurrency key "${key}"`
    const many = `${executions(placed.size)} of ${placeOf(active.job)}${same} ${placed.size === 1 ? 'runs' : 'run'}`
    return `${many}, and ${limit} may at once; ${before} start before this one`
  }

  /** Resolves with false when the execution is to end before it has a place. */
  #hasPlace (active: ActiveExecution): Promise<boolean> {
    return new Promise(resolve => {
      const { bus, config: { execution: { queue_ms_max } } } = this.#dependencies
      const expiry = setTimeout(() => {
        fail(active, 'TIMEOUT', expiredMessage, {}, 'expire', bus)
        end(false)
      }, Math.min(queue_ms_max, timerMax_ms)).unref()
      const end = (hasPlace: boolean): void => {
        clearTimeout(expiry)
        resolve(hasPlace)
      }
      active.abort.addEventListener('abort', () => { end(false) })
      if (active.abort.aborted) end(false)
      else this.enter(active, () => { end(true) })
    })
  }

  #join (active: ActiveExecution, rule: ConcurrencyRule): Member {
    const { execution, job } = active
    const id = groupId(job, rule)
    let group = this.#groups.get(id)
    if (group === undefined) this.#groups.set(id, group = { id, limit: 1, placed: new List(), waiting: new List() })
    group.limit = rule.limit // of the newest version of the skill
    const member = new Member(active, group)
    this.#members.set(active, member)
    // The parameters of the record have no secrets.
    const key = active.clean(fillKey(rule.key, execution.parameters)).slice(0, keyShownMax)
    execution.concurrency = { key, limit: rule.limit }
    group.waiting.push(member)
    this.#placeNext(group)
    if (rule.when_full === 'cancel_oldest') cancelOldest(group, execution.id)
    return member
  }

  #placeNext (group: Group): void {
    while (group.placed.size < group.limit) {
      const member = group.waiting.shift()
      if (member === undefined) return
      group.placed.push(member)
      const { active: { execution: { concurrency } }, start, entered_ms } = member
      const waited_ms = Math.round(performance.now() - entered_ms)
      if (concurrency !== undefined && start !== undefined) concurrency.waited_ms = waited_ms
      start?.()
    }
  }
}

/** Ends the oldest executions of a group, so that as many as its limit are left. */
function cancelOldest ({ placed, waiting, limit }: Group, superseded_by: string): void {
  const excess = placed.size + waiting.size - limit
  if (excess <= 0) return
  for (const { active } of [...placed, ...waiting].slice(0, excess)) active.end({ superseded_by })
}

/** The rule for the runs of a job. */
export function ruleOf ({ skill, tool }: Job): ConcurrencyRule | undefined {
  return tool.concurrency ?? skill.concurrency
}

/** Identifies the executions that count together. */
function groupId (job: Job, { key }: ConcurrencyRule): string {
  return `${placeOf(job)} ${fillKey(key, job.parameters)}`
}

/** What the rule of a job is of: a tool such as `git:pull`, or a whole skill such as `git`. Neither has a space. */
function placeOf ({ skill, tool }: Job): string {
  return tool.concurrency === undefined ? skill.name : `${skill.name}:${tool.name}`
}

function executions (count: number): string {
  return count === 1 ? '1 execution' : `${count} executions`
}
