import {
  cacheLimits, filteredTotalMax, type Execution, type ExecutionQuery, type ExecutionStatus, type ProcessIdentity
} from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { makeStored } from './executions.ts'
import { drawCases } from './storage-cases.ts'
import { firstPage, type Define, type OpenBeside, type OpenStorage } from './storage-define.ts'
import { testKeys, testKeysOfTwoWriters } from './storage-keys.ts'
import { testLimits } from './storage-limits.ts'
import { testStorageModel, type Cases } from './storage-model.ts'
import { testTwoWriters, testUnfinished } from './storage-unfinished.ts'
import { testWords } from './storage-words.ts'

/** What the suite needs to know of a storage. */
export interface StorageHarness {
  open: OpenStorage
  /**
   * Opens a further writer of a store that is open, as another process does. By default the same one writes: nobody
   * else reaches it.
   */
  openBeside?: OpenBeside
  /** Draws cases for the model, and checks each; by default the suite does. */
  cases?: Cases
}

/** What every storage must do. */
export async function testStorage (
  t: TestContext,
  { open, openBeside = async first => ({ ...first, close: async () => {} }), cases = drawCases }: StorageHarness
): Promise<void> {
  const defined: Parameters<Define>[] = []
  const define: Define = (...test) => { defined.push(test) }
  testRecords(define)
  testPages(define)
  testFilters(define)
  testUnfinished(define)
  testKeys(define)
  testRoles(define)
  testLimits(define)
  testCache(define)
  testWords(define)
  for (const [title, test, section] of defined) {
    await t.test(title, async t => {
      const opened = await open(section)
      t.teardown(() => opened.close())
      await test(t, opened.service)
    })
  }
  await testTwoWriters(t, open, openBeside)
  await testKeysOfTwoWriters(t, open, openBeside)
  await testStorageModel(t, open, cases)
}

function testRecords (define: Define): void {
  define('a record is what was saved last, before and after its commit', async (t, storage) => {
    const stored = makeStored({ status: 'queued', output: '', started_at: null, finished_at: null, isolation: null })
    const { id } = stored.execution
    storage.save(stored)
    t.same(await storage.get(id), stored)
    await storage.commit()
    t.same(await storage.get(id), stored)
    const final = {
      execution: {
        ...stored.execution,
        status: 'failed' as const,
        error: { code: 'TIMEOUT', message: 'slow', details: { timeout_ms: 5 } }
      },
      owner: null
    }
    storage.save(final)
    t.same(await storage.get(id), final)
    await storage.commit()
    t.same(await storage.get(id), final)
    t.equal((await storage.list(firstPage)).total, 1, 'two states are one record')
  })

  define('readers and writers share no objects', async (t, storage) => {
    const stored = makeStored()
    storage.save(stored)
    await storage.commit()
    stored.execution.output = 'changed, and not saved'
    const read = await storage.get(stored.execution.id)
    t.equal(read?.execution.output, 'HELLO')
    if (read !== undefined) read.execution.output = 'changed by a reader'
    t.equal((await storage.get(stored.execution.id))?.execution.output, 'HELLO')
  })

  define('what does not exist is undefined, whatever it is called', async (t, storage) => {
    storage.save(makeStored())
    for (const id of ['', 'constructor', '__proto__', 'bounds', '\0', '\ud800', 'é'.repeat(50), 'x'.repeat(100_000)]) {
      t.equal(await storage.get(id), undefined, JSON.stringify(id).slice(0, 40))
    }
  })

  define('odd values survive', async (t, storage) => {
    const parameters = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": 1, "emoji 🦊": "👩‍👩‍👧", "": null, "deep": {"__proto__": []}}'
    ) as Record<string, unknown>
    const odd: Partial<Execution>[] = [
      { parameters },
      { output: '\ud800 lone \udc00 surrogates \u0000 \u2028 🦊' },
      { output: 'é'.repeat(524_288) },
      { parameters: { blob: '🦊'.repeat(1_000), ...parameters }, output: '\udfff'.repeat(10_000) },
      { skill_name: 'constructor', tool_name: '__proto__' },
      { skill_name: 'hasOwnProperty', tool_name: 'to.String' }
    ]
    const saved = odd.map(fields => makeStored(fields))
    for (const stored of saved) storage.save(stored)
    const check = async (when: string): Promise<void> => {
      for (const stored of saved) {
        t.equal(JSON.stringify(await storage.get(stored.execution.id)), JSON.stringify(stored), when)
      }
    }
    await check('before the commit')
    await storage.commit()
    await check('after the commit')
    const read = await storage.get(saved[0]?.execution.id ?? '')
    t.ok(Object.hasOwn(read?.execution.parameters ?? {}, '__proto__'), 'an own __proto__ key stays an own key')
    t.equal((await storage.list({ ...firstPage, skill_name: 'constructor' })).total, 1)
    t.equal((await storage.list({ ...firstPage, tool_name: '__proto__' })).total, 1)
    t.equal((await storage.list({ ...firstPage, skill_name: 'toString' })).total, 0)
  })

  define('a large output may come after a small one, and go again', async (t, storage) => {
    const { execution } = makeStored()
    for (const output of ['small', 'large'.repeat(10_000), 'small again']) {
      storage.save({ execution: { ...execution, output }, owner: null })
      await storage.commit()
      t.equal((await storage.get(execution.id))?.execution.output, output)
      t.equal((await storage.list(firstPage)).executions[0]?.id, execution.id)
    }
  })
}

function testPages (define: Define): void {
  define('an empty history is an empty page', async (t, storage) => {
    t.same(await storage.list(firstPage), { executions: [], total: 0 })
    t.same(await storage.list({ ...firstPage, offset: Number.MAX_SAFE_INTEGER, status: 'success' }), {
      executions: [],
      total: 0
    })
  })

  define('pages are newest first, see what was saved, and show summaries only', async (t, storage) => {
    const all = Array.from({ length: 600 }, () => makeStored({ output: 'x'.repeat(3_000) }))
    for (const stored of all) storage.save(stored)
    const newest = all.map(({ execution }) => execution.id).toReversed()
    const page = await storage.list({ limit: 500, offset: 0 })
    t.same(page.executions.map(({ id }) => id), newest.slice(0, 500))
    t.equal(page.total, 600)
    const { id, skill_name, tool_name, status, created_at, duration_ms } = all[599]?.execution ?? makeStored().execution
    t.same(page.executions[0], { id, skill_name, tool_name, status, created_at, duration_ms })
    const middle = await storage.list({ limit: 7, offset: 255 })
    t.same(middle.executions.map(({ id }) => id), newest.slice(255, 262))
    const end = await storage.list({ limit: 50, offset: 590 })
    t.same([end.executions.map(({ id }) => id), end.total, end.next_cursor], [newest.slice(590), 600, undefined])
    t.same(await storage.list({ limit: 50, offset: 600 }), { executions: [], total: 600 })
    t.same(await storage.list({ limit: 50, offset: Number.MAX_SAFE_INTEGER }), { executions: [], total: 600 })
  })

  define('cursors lead through all, once each, while new executions arrive', async (t, storage) => {
    for (const filter of [{}, { skill_name: 'walk' }]) {
      const ids = Array.from({ length: 25 }, () => {
        const stored = makeStored({ skill_name: 'walk' })
        storage.save(stored)
        return stored.execution.id
      })
      const seen: string[] = []
      let cursor: string | undefined
      for (let pages = 0; pages < 5; pages++) {
        const page = await storage.list({ limit: 5, offset: 0, ...filter, ...(cursor !== undefined && { cursor }) })
        seen.push(...page.executions.map(({ id }) => id))
        cursor = page.next_cursor
        storage.save(makeStored({ skill_name: 'other' }))
      }
      t.same(seen, ids.toReversed())
    }
  })

  define('the last page has no cursor', async (t, storage) => {
    for (let i = 0; i < 4; i++) storage.save(makeStored({ skill_name: i === 0 ? 'other' : 'one' }))
    for (const filter of [{}, { status: 'success' as const }]) {
      const { next_cursor: cursor } = await storage.list({ limit: 2, offset: 0, ...filter })
      if (cursor === undefined) throw new Error('the first page has no cursor')
      const second = await storage.list({ limit: 2, offset: 0, cursor, ...filter })
      t.same([second.executions.length, second.next_cursor, second.total], [2, undefined, 4])
      const offset = await storage.list({ limit: 2, offset: 1, cursor, ...filter })
      t.equal(offset.executions[0]?.id, second.executions[1]?.id, 'an offset counts from the cursor')
    }
    t.equal(
      (await storage.list({ limit: 3, offset: 0, skill_name: 'one' })).next_cursor,
      undefined,
      'what follows does not match'
    )
  })

  define('a cursor it never gave is refused', async (t, storage) => {
    for (let i = 0; i < 10; i++) storage.save(makeStored())
    const { next_cursor = '' } = await storage.list({ limit: 2, offset: 0 })
    for (const cursor of [
      '', '0', 'x', '-1', 'constructor', `${next_cursor} `, ` ${next_cursor}`, `${next_cursor}zzz`,
      next_cursor.toUpperCase(), '9'.repeat(64), '\ud800'
    ]) {
      await t.rejects(storage.list({ limit: 2, offset: 0, cursor }), { code: 'INVALID_PARAMETERS' }, cursor)
      await t.rejects(
        storage.list({ limit: 2, offset: 0, cursor, status: 'success' }), { code: 'INVALID_PARAMETERS' }, cursor
      )
    }
  })
}

function testFilters (define: Define): void {
  define('filters apply alone and together', async (t, storage) => {
    const statuses: ExecutionStatus[] = ['success', 'failed', 'timeout', 'running']
    const base_ms = Date.now() - 3_600_000
    for (let i = 0; i < 400; i++) {
      storage.save(makeStored({
        skill_name: `skill-${i % 3}`, tool_name: `tool-${i % 5}`, status: statuses[i % 4] ?? 'success',
        created_at: new Date(base_ms + i * 1000).toISOString()
      }))
    }
    const count = async (filter: Partial<ExecutionQuery>): Promise<number> =>
      (await storage.list({ ...firstPage, ...filter })).total
    t.equal(await count({ skill_name: 'skill-1' }), 133)
    t.equal(await count({ tool_name: 'tool-4' }), 80)
    t.equal(await count({ skill_name: 'skill-0', tool_name: 'tool-0' }), 27)
    t.equal(
      await count({ allows: (skill, tool) => skill === 'skill-0' && tool === 'tool-0' }), 27, 'the rights of a key'
    )
    t.equal(await count({ skill_name: 'skill-0', allows: (_skill, tool) => tool === 'tool-0' }), 27)
    t.equal(await count({ status: 'running' }), 100)
    t.equal(await count({ status: 'queued' }), 0)
    t.equal(await count({ created_from_ms: base_ms + 100_000 }), 300)
    t.equal(await count({ created_before_ms: base_ms + 100_000 }), 100)
    t.equal(await count({ created_from_ms: base_ms + 100_000, created_before_ms: base_ms + 100_001 }), 1)
    t.equal(
      await count({
        created_from_ms: base_ms + 100_000, created_before_ms: base_ms + 160_000, status: 'success',
        skill_name: 'skill-0', tool_name: 'tool-0'
      }),
      1
    )
    const page = await storage.list({ limit: 3, offset: 2, skill_name: 'skill-2' })
    t.same(page.executions.map(({ created_at }) => (Date.parse(created_at) - base_ms) / 1000), [392, 389, 386])
  })

  define('a filter follows the state of an execution', async (t, storage) => {
    const { execution, owner } = makeStored({ status: 'running' })
    storage.save({ execution, owner })
    t.equal((await storage.list({ ...firstPage, status: 'running' })).total, 1)
    storage.save({ execution: { ...execution, status: 'cancelled' }, owner: null })
    t.equal((await storage.list({ ...firstPage, status: 'running' })).total, 0)
    t.equal((await storage.list({ ...firstPage, status: 'cancelled' })).total, 1)
  })

  define('a filtered total counts no further than it says, and pages go on past it', async (t, storage) => {
    const count = filteredTotalMax + 300
    for (let i = 0; i < count; i++) storage.save(makeStored({ skill_name: i === 0 ? 'oldest' : 'text' }))
    t.equal((await storage.list(firstPage)).total, count)
    const deep = await storage.list({ limit: 5, offset: count - 5, status: 'success' })
    t.same([deep.total, deep.executions.length, deep.executions[4]?.skill_name, deep.next_cursor], [
      filteredTotalMax, 5, 'oldest', undefined
    ])
    const before = await storage.list({ limit: 5, offset: count - 10, status: 'success' })
    const after = await storage.list({ limit: 5, offset: 0, status: 'success', cursor: before.next_cursor ?? '' })
    t.same(after, deep)
    t.equal((await storage.list({ ...firstPage, skill_name: 'oldest' })).total, 1)
  })
}

function testRoles (define: Define): void {
  define('a role has one holder, and a dead one loses it', async (t, storage) => {
    const owners = Array.from({ length: 20 }, (_, pid): ProcessIdentity => ({ pid, started: 'then' }))
    const alive = (): boolean => true
    const answers = await Promise.all(
      owners.map(owner => storage.claim('serve', { owner, note: `http://${owner.pid}` }, alive))
    )
    t.equal(answers.filter(answer => answer === undefined).length, 1, 'exactly one got it')
    const holder = owners[answers.indexOf(undefined)] ?? { pid: -1, started: '' }
    for (const answer of answers) {
      if (answer !== undefined) t.same(answer, { owner: holder, note: `http://${holder.pid}` })
    }
    t.equal(
      await storage.claim('serve', { owner: holder, note: 'again' }, alive), undefined, 'its holder may claim it again'
    )
    const other = owners.find(owner => owner !== holder) ?? holder
    t.equal(await storage.claim('other role', { owner: other, note: '' }, alive), undefined)
    t.same(await storage.holder('serve'), { owner: holder, note: 'again' })
    await storage.release('serve', other)
    t.same(
      await storage.claim('serve', { owner: other, note: '' }, alive),
      { owner: holder, note: 'again' },
      'only its holder gives it back'
    )
    t.equal(
      await storage.claim('serve', { owner: other, note: '' }, owner => owner.pid !== holder.pid),
      undefined,
      'the holder is dead'
    )
    await storage.release('serve', other)
    await storage.release('serve', other)
    t.equal(await storage.holder('serve'), undefined)
    t.equal(await storage.claim('serve', { owner: holder, note: '' }, alive), undefined)
    await t.rejects(storage.claim('serve', { owner: other, note: '' }, () => { throw new Error('no /proc') }), {
      message: 'no /proc'
    })
  })
}

function testCache (define: Define): void {
  const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

  define('the cache gives what was written first, by key, and nothing for other keys', async (t, { cache }) => {
    await cache.write([['a', bytes(1, 2)], ['b', bytes()], ['a', bytes(9)]])
    await cache.write([['b', bytes(9)], ['c', bytes(3)]])
    const [b, none, a, c] = await cache.read(['b', 'd', 'a', 'c'])
    t.same([b, none, a, c].map(value => value && [...value]), [[], undefined, [1, 2], [3]])
    a?.fill(7)
    t.same([...(await cache.read(['a']))[0] ?? []], [1, 2], 'what is given is a copy')
    t.equal(a?.buffer.byteLength, 2, 'of its own memory')
    t.same(await cache.read(['', 'x'.repeat(cacheLimits.key_characters + 1)]), [undefined, undefined])
  })

  define('the cache refuses what is too large, whole', async (t, { cache }) => {
    for (const bad of [
      ['', bytes()],
      ['x'.repeat(cacheLimits.key_characters + 1), bytes()],
      ['b', new Uint8Array(cacheLimits.value_bytes + 1)]
    ] as const) {
      await t.rejects(cache.write([['a', bytes(1)], bad]))
    }
    await t.rejects(cache.write(Array.from({ length: cacheLimits.keys + 1 }, (_, i) => [`k${i}`, bytes()] as const)))
    await t.rejects(cache.read(Array.from({ length: cacheLimits.keys + 1 }, String)))
    t.same(await cache.read(['a', 'k0']), [undefined, undefined])
  })

  define('the cache is bounded, and forgets the oldest first', async (t, { cache }) => {
    const { entries, keys } = cacheLimits
    for (let from = 0; from < entries + 2 * keys; from += keys) {
      await cache.write(Array.from({ length: keys }, (_, i) => [`key ${from + i}`, bytes(1)] as const))
    }
    const written = Math.ceil((entries + 2 * keys) / keys) * keys
    const there = async (number: number): Promise<boolean> => (await cache.read([`key ${number}`]))[0] !== undefined
    t.same(await Promise.all([there(0), there(written - entries - 1), there(written - entries), there(written - 1)]), [
      false, false, true, true
    ])
  })
}
