import type {
  Execution, ExecutionPage, ExecutionQuery, ExecutionStatus, Storage, StoredExecution
} from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { makeStored } from './executions.ts'
import type { OpenStorage } from './storage-define.ts'

/** Executions of the model begin from here on: never too old. */
export const base_ms = Date.UTC(2040, 0, 1)
/** Of skills and tools. */
export const names = ['git', 'constructor', '__proto__', 'a', 'ab', '']
export const finals: readonly ExecutionStatus[] = ['success', 'failed', 'timeout', 'cancelled', 'interrupted']
/** Fewer cases prove too little. */
export const casesMin = 30

/** A step of a case. `at` counts seconds. */
export type Command =
  | { do: 'save', count: number, skill: string, tool: string, status: ExecutionStatus, at: number, output: string }
  | { do: 'finish', which: number, status: ExecutionStatus }
  | { do: 'interrupt', every: number }
  | { do: 'commit' }
  | { do: 'list', query: ExecutionQuery }

/** Gives `check` at least `casesMin` cases, of at most 40 steps; rejects where it does. */
export type Cases = (check: (commands: Command[]) => Promise<void>) => Promise<void>

/**
 * Whatever is saved, ended and asked for in whatever order, a storage answers as an array would; also one that prunes
 * nearly all.
 */
export async function testStorageModel (t: TestContext, open: OpenStorage, cases: Cases): Promise<void> {
  for (const history_executions_max of [1_000_000, 300, 7]) {
    await t.test(`it answers as an array would, with ${history_executions_max} executions at most`, async t => {
      let checked = 0
      await cases(async commands => {
        const opened = await open({ history_executions_max })
        try {
          await follow(opened.service, commands, history_executions_max)
        } finally {
          await opened.close()
        }
        checked++
      })
      t.ok(checked >= casesMin, `${checked} cases were drawn`)
    })
  }
}

/** All that was saved; an item that was pruned is undefined. */
type Model = (StoredExecution | undefined)[]

/** Past the limit, only what has not ended is kept. */
function prune (model: Model, max: number): void {
  for (let index = 0; index < model.length - max; index++) if (model[index]?.owner === null) model[index] = undefined
}

function present (model: Model): StoredExecution[] {
  return model.filter(stored => stored !== undefined)
}

async function follow (storage: Storage, commands: readonly Command[], executions_max: number): Promise<void> {
  const model: Model = []
  for (const command of commands) {
    switch (command.do) {
      case 'save': {
        const { skill: skill_name, tool: tool_name, status, output } = command
        for (let i = 0; i < command.count; i++) {
          const stored = makeStored({
            skill_name, tool_name, status, output, duration_ms: command.at * i,
            created_at: new Date(base_ms + command.at * 1000 + i).toISOString()
          })
          model.push(stored)
          storage.save(stored)
        }
        break
      }
      case 'finish': {
        const index = command.which % (model.length + 1)
        const entry = model[index]
        if (entry === undefined || entry.owner === null) break
        const stored = { execution: { ...entry.execution, status: command.status }, owner: null }
        model[index] = stored
        storage.save(stored)
        break
      }
      case 'interrupt': {
        prune(model, executions_max)
        const unfinished = (await storage.unfinished()).filter(({ id }) =>
          present(model).findIndex(({ execution }) => execution.id === id) % command.every === 0)
        const ended = await storage.endUnfinished(unfinished, execution => ({ ...execution, status: 'interrupted' }))
        same(ended, unfinished.map(({ id }) => id))
        for (const [index, stored] of model.entries()) {
          if (stored !== undefined && ended.includes(stored.execution.id)) {
            model[index] = { execution: { ...stored.execution, status: 'interrupted' }, owner: null }
          }
        }
        break
      }
      case 'commit':
        await storage.commit()
        break
      case 'list':
        prune(model, executions_max)
        await walk(storage, present(model), command.query)
        await readAll(storage, present(model), command.query)
    }
  }
  await storage.commit()
  prune(model, executions_max)
  const unfinished = present(model).filter(({ owner }) => owner !== null)
  same(
    (await storage.unfinished()).map(({ id }) => id).toSorted(),
    unfinished.map(({ execution }) => execution.id).toSorted()
  )
  for (const stored of [...unfinished, ...present(model.slice(-50))]) {
    same(await storage.get(stored.execution.id), stored)
  }
}

/** A page and, by its cursors, the pages after it. */
async function walk (storage: Storage, model: readonly StoredExecution[], query: ExecutionQuery): Promise<void> {
  const matching = model.filter(stored => matches(stored, query)).toReversed()
  let offset = query.offset
  let page: ExecutionPage = await storage.list(query)
  for (let pages = 0; pages < 4; pages++) {
    same(
      page.executions.map(({ id }) => id),
      matching.slice(offset, offset + query.limit).map(({ execution }) => execution.id)
    )
    same(page.total, matching.length)
    same(page.next_cursor !== undefined, matching.length > offset + query.limit)
    if (page.next_cursor === undefined) return
    offset += query.limit
    page = await storage.list({ ...query, offset: 0, cursor: page.next_cursor })
  }
}

/** All that matches, in short and whole. */
async function readAll (storage: Storage, model: readonly StoredExecution[], query: ExecutionQuery): Promise<void> {
  const matching = model.filter(stored => matches(stored, query)).map(({ execution }) => execution)
  const visited: string[] = []
  await storage.visit(query, (...tool) => (...facts) => { visited.push(JSON.stringify([...tool, ...facts])) })
  const facts = matching.map(({ skill_name, tool_name, status, created_at, duration_ms }) =>
    JSON.stringify([skill_name, tool_name, status, Date.parse(created_at), duration_ms]))
  same(visited.toSorted(), facts.toSorted())
  const records: Execution[] = []
  for await (const execution of storage.records(query)) records.push(execution)
  same(records, matching.filter(({ status }) => finals.includes(status)))
}

function matches ({ execution }: StoredExecution, query: ExecutionQuery): boolean {
  const at_ms = Date.parse(execution.created_at)
  return query.allows?.(execution.skill_name, execution.tool_name) !== false
    && (query.skill_name ?? execution.skill_name) === execution.skill_name
    && (query.tool_name ?? execution.tool_name) === execution.tool_name
    && (query.status ?? execution.status) === execution.status
    && at_ms >= (query.created_from_ms ?? at_ms) && at_ms < (query.created_before_ms ?? Number.POSITIVE_INFINITY)
}

/** Equal as JSON. */
function same (actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) throw new Error(`got ${a?.slice(0, 500)}, expected ${b?.slice(0, 500)}`)
}
