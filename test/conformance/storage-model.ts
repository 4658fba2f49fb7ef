import * as fc from 'fast-check'
import t from 'tap'
import { EXECUTION_STATUSES, type ExecutionPage, type ExecutionQuery, type ExecutionStatus, type Storage, type StoredExecution } from '../../kernel/index.ts'
import { makeStored } from '../support/executions.ts'
import type { OpenStorage } from './storage-define.ts'

const base_ms = Date.UTC(2040, 0, 1) // never too old
const names = ['git', 'constructor', '__proto__', 'a', 'ab', '']
const name = fc.constantFrom(...names)
const finals: ExecutionStatus[] = ['success', 'failed', 'timeout', 'cancelled', 'interrupted']
const second = fc.integer({ min: 0, max: 20 })

type Command =
  | { do: 'save', count: number, skill: string, tool: string, status: ExecutionStatus, at: number, output: string }
  | { do: 'finish', which: number, status: ExecutionStatus }
  | { do: 'interrupt', every: number }
  | { do: 'commit' }
  | { do: 'list', query: ExecutionQuery }

const query: fc.Arbitrary<ExecutionQuery> = fc.record({
  limit: fc.integer({ min: 1, max: 40 }),
  offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 600 })),
  skill_name: name,
  tool_name: name,
  status: fc.constantFrom(...EXECUTION_STATUSES),
  created_from_ms: second.map(at => base_ms + at * 1000),
  created_before_ms: second.map(at => base_ms + at * 1000),
  allows: fc.constantFrom((skill: string) => skill === 'git', (skill: string, tool: string) => skill === 'a' || tool === 'ab')
}, { requiredKeys: ['limit', 'offset'] })

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    do: fc.constant('save' as const), count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 150 })), skill: name, tool: name,
    status: fc.constantFrom(...EXECUTION_STATUSES), at: second, output: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('x'.repeat(3_000)))
  }),
  fc.record({ do: fc.constant('finish' as const), which: fc.nat(), status: fc.constantFrom(...finals) }),
  fc.record({ do: fc.constant('interrupt' as const), every: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('commit' as const) }),
  fc.record({ do: fc.constant('list' as const), query })
)

/** Whatever is saved, ended and asked for in whatever order, a storage answers as an array would; also one that prunes nearly all. */
export function testStorageModel (name: string, open: OpenStorage): void {
  for (const history_executions_max of [1_000_000, 300, 7]) {
    void t.test(`${name}: it answers as an array would, with ${history_executions_max} executions at most`, async t => {
      await fc.assert(fc.asyncProperty(fc.array(command, { maxLength: 40 }), async commands => {
        const opened = await open({ history_executions_max })
        try {
          await follow(opened.service, commands, history_executions_max)
        } finally {
          await opened.close()
        }
      }), { numRuns: 30, seed: 42 }) // the same on each machine; another seed is another set of cases
      t.pass()
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
          const stored = makeStored({ skill_name, tool_name, status, output, created_at: new Date(base_ms + command.at * 1000 + i).toISOString() })
          model.push(stored)
          storage.save(stored)
        }
        break
      }
      case 'finish': {
        const index = command.which % (model.length + 1)
        const found = model[index]
        if (found === undefined || found.owner === null) break
        const stored = { execution: { ...found.execution, status: command.status }, owner: null }
        model[index] = stored
        storage.save(stored)
        break
      }
      case 'interrupt': {
        prune(model, executions_max)
        const found = (await storage.unfinished()).filter(({ id }) => present(model).findIndex(({ execution }) => execution.id === id) % command.every === 0)
        const ended = await storage.endUnfinished(found, execution => ({ ...execution, status: 'interrupted' }))
        same(ended, found.map(({ id }) => id))
        for (const [index, stored] of model.entries()) {
          if (stored !== undefined && ended.includes(stored.execution.id)) model[index] = { execution: { ...stored.execution, status: 'interrupted' }, owner: null }
        }
        break
      }
      case 'commit':
        await storage.commit()
        break
      case 'list':
        prune(model, executions_max)
        await walk(storage, present(model), command.query)
    }
  }
  await storage.commit()
  prune(model, executions_max)
  const unfinished = present(model).filter(({ owner }) => owner !== null)
  same((await storage.unfinished()).map(({ id }) => id).toSorted(), unfinished.map(({ execution }) => execution.id).toSorted())
  for (const stored of [...unfinished, ...present(model.slice(-50))]) same(await storage.get(stored.execution.id), stored)
}

/** A page and, by its cursors, the pages after it. */
async function walk (storage: Storage, model: readonly StoredExecution[], query: ExecutionQuery): Promise<void> {
  const matching = model.filter(stored => matches(stored, query)).toReversed()
  let offset = query.offset
  let page: ExecutionPage = await storage.list(query)
  for (let pages = 0; pages < 4; pages++) {
    same(page.executions.map(({ id }) => id), matching.slice(offset, offset + query.limit).map(({ execution }) => execution.id))
    same(page.total, matching.length)
    same(page.next_cursor !== undefined, matching.length > offset + query.limit)
    if (page.next_cursor === undefined) return
    offset += query.limit
    page = await storage.list({ ...query, offset: 0, cursor: page.next_cursor })
  }
}

function matches ({ execution }: StoredExecution, query: ExecutionQuery): boolean {
  const at_ms = Date.parse(execution.created_at)
  return query.allows?.(execution.skill_name, execution.tool_name) !== false &&
    (query.skill_name ?? execution.skill_name) === execution.skill_name &&
    (query.tool_name ?? execution.tool_name) === execution.tool_name &&
    (query.status ?? execution.status) === execution.status &&
    at_ms >= (query.created_from_ms ?? at_ms) && at_ms < (query.created_before_ms ?? Number.POSITIVE_INFINITY)
}

/** Equal as JSON. */
function same (actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) throw new Error(`got ${a?.slice(0, 500)}, expected ${b?.slice(0, 500)}`)
}
