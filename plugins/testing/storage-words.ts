import {
  executionWords, hasAll, soughtIn, type ExecutionQuery, type Storage, type StoredExecution
} from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { makeStored } from './executions.ts'
import { firstPage, type Define } from './storage-define.ts'

const vocabulary = ['alpha', 'beta', 'gamma', 'Delta', 'epsilon-7', 'Zürich', '日本語', 'constructor', '__proto__', '42']
/** When the executions of the tests begin. */
const base_ms = Date.UTC(2040, 0, 1)

/** The ids that a query finds. */
async function idsOf (
  storage: Storage, text: string, query: ExecutionQuery = firstPage
): Promise<string[] | undefined> {
  return (await storage.find?.(soughtIn(text), query))?.executions.map(({ id }) => id)
}

/** Finding executions by their words, for storages that can. */
export function testWords (define: Define): void {
  define('if it finds words, it finds what has all of them, filtered, in order and in pages', async (t, storage) => {
    if (storage.find === undefined) return
    const all = Array.from({ length: 120 }, (_, i) => recordOf(i))
    for (const stored of all) storage.save(stored)
    for (const query of [
      'alpha', 'beta gamma', 'DELTA alpha', 'epsil*', 'zurich', '日本', '語', 'constructor', 'proto', '42 beta', 'nothing',
      'git', 'echo alpha', 'timeout', 'alpha nothing', '"beta" OR'
    ]) {
      for (const filter of filters) await compare(t, storage, all, query, filter)
    }
  })

  define('if it finds words, it finds what has not ended, and what it says at its end', async (t, storage) => {
    if (storage.find === undefined) return
    const stored = makeStored({ status: 'running', parameters: { text: 'early' }, output: '' })
    const { id } = stored.execution
    storage.save(stored)
    t.same(await idsOf(storage, 'early'), [id])
    t.same(await idsOf(storage, 'late'), [])
    storage.save(makeStored())
    storage.save({ execution: { ...stored.execution, status: 'success', output: 'late' }, owner: null })
    t.same(await idsOf(storage, 'late early'), [id], 'saved, and not committed yet')
  })

  define('if it finds words, it does not find what was pruned, and does find what pruning skipped', async (t, storage) => {
    if (storage.find === undefined) return
    const first = makeStored({ status: 'running', parameters: { text: 'word' } })
    const others = Array.from({ length: 20 }, () => makeStored({ output: 'word' }))
    for (const stored of [first, ...others]) storage.save(stored)
    await storage.commit()
    t.same(
      await idsOf(storage, 'word'),
      [...others.slice(-7).toReversed(), first].map(({ execution }) => execution.id)
    )
    t.same(await idsOf(storage, 'nothing'), [])
  }, { history_executions_max: 7 })
}

function recordOf (i: number): StoredExecution {
  const words = vocabulary.filter((_, index) => (i * 7 + index * i) % (index + 2) === 0)
  return makeStored({
    skill_name: i % 3 === 0 ? 'git' : 'text', tool_name: i % 2 === 0 ? 'echo' : 'other',
    status: i % 5 === 0 ? 'failed' : i % 50 === 1 ? 'running' : 'success',
    created_at: new Date(base_ms + i * 1_000).toISOString(),
    parameters: { [words[0] ?? 'none']: words.slice(0, 2) }, output: words.slice(1).join(', '),
    error: i % 5 === 0 ? { code: 'TIMEOUT', message: words.join('/'), details: {} } : null
  })
}

const filters: readonly Partial<ExecutionQuery>[] = [
  {}, { skill_name: 'git' }, { tool_name: 'other', status: 'success' }, { allows: skill => skill === 'text' },
  { created_from_ms: base_ms + 20_000, created_before_ms: base_ms + 100_000 }
]

/** Compares all pages, and one after an offset, with what reading all records finds. */
async function compare (
  t: TestContext, storage: Storage, all: readonly StoredExecution[], text: string, filter: Partial<ExecutionQuery>
): Promise<void> {
  const words = soughtIn(text)
  const expected = all.filter(({ execution }) => hasAll(executionWords(execution), words)
    && (filter.skill_name ?? execution.skill_name) === execution.skill_name
    && (filter.tool_name ?? execution.tool_name) === execution.tool_name
    && (filter.status ?? execution.status) === execution.status
    && filter.allows?.(execution.skill_name, execution.tool_name) !== false
    && Date.parse(execution.created_at) >= (filter.created_from_ms ?? 0)
    && Date.parse(execution.created_at) < (filter.created_before_ms ?? Number.POSITIVE_INFINITY))
    .map(({ execution }) => execution.id).toReversed()
  const found: string[] = []
  let cursor: string | undefined
  do {
    const from = cursor === undefined ? {} : { cursor }
    const page = await storage.find?.(words, { limit: 20, offset: 0, ...filter, ...from })
    if (page === undefined || page.total !== expected.length || page.unindexed !== 0) {
      t.same(page && { total: page.total, unindexed: page.unindexed }, { total: expected.length, unindexed: 0 }, text)
      return
    }
    found.push(...page.executions.map(({ id }) => id))
    cursor = page.next_cursor
  } while (cursor !== undefined)
  t.same(found, expected, `${text} ${JSON.stringify(filter)}`)
  t.same(await idsOf(storage, text, { limit: 3, offset: 5, ...filter }), expected.slice(5, 8), `${text}, an offset`)
}
