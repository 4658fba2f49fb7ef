import { cp, mkdtemp, open as openFile, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { silentLogger, type Cache, type Search, type SearchAnswer } from '../../kernel/index.ts'
import { Embedder } from '../../plugins/search-hnsw/meaning/embedder.ts'
import { examine, modelFinding } from '../../plugins/search-hnsw/examine.ts'
import plugin from '../../plugins/search-hnsw/index.ts'
import { Model } from '../../plugins/search-hnsw/meaning/model.ts'
import type { Found } from '../../plugins/search-hnsw/meaning/protocol.ts'
import { MemoryCache } from '../../plugins/storage-memory/memory-cache.ts'
import { searchable, shelf, testSearch } from '../conformance/search.ts'
import { openPlugin, type Opened } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'

const never = new AbortController().signal
const model = fileURLToPath(new URL('../../../plugins/search-hnsw/model', import.meta.url))
/** Longer than loading the model takes on a busy machine. */
const patience_ms = 120_000

async function open (t: Test, search: Record<string, unknown>, cache?: Cache): Promise<Opened<Search>> {
  const opened = await openPlugin(plugin, { config: { search }, ...(cache !== undefined && { cache }) })
  t.teardown(() => opened.close())
  return opened
}

t.test('by words alone, it is a search', t => testSearch(t, () => open(t, { model: 'none' })))

t.test('making a large index lets the event loop turn', async t => {
  const { service: search } = await open(t, { model: 'none' })
  const skills = Array.from({ length: 200 }, (_, i) => searchable(`skill-${i}`, `Area ${i}`, Object.fromEntries(
    Array.from({ length: 10 }, (_, j) => [`operation_${j}`, `Performs operation ${j} on area ${i}`])
  )))
  let turns = 0
  const timer = setInterval(() => { turns++ }, 1)
  await search.index(skills)
  clearInterval(timer)
  t.ok(turns >= 5, `${turns} turns`)
  t.equal((await search.search('operation_7 area 123', { top_k: 1 }, never)).results[0]?.skill_name, 'skill-123')
})

t.test('when two indexes are made at once, the later one stays', async t => {
  const { service: search } = await open(t, { model: 'none' })
  const large = Array.from({ length: 100 }, (_, i) => searchable(`old-${i}`, 'Old', { paint: 'Paint a picture' }))
  await Promise.all([search.index(large), search.index([searchable('new', 'New', { paint: 'Paint a picture' })])])
  t.same((await search.search('paint', { top_k: 5 }, never)).results.map(result => result.skill_name), ['new'])
})

t.test('with the bundled model', async t => {
  const memory = new MemoryCache()
  const written: string[] = []
  const cache: Cache = {
    read: keys => memory.read(keys),
    async write (entries) {
      written.push(...entries.map(([key]) => key))
      await memory.write(entries)
    }
  }
  const opened = await open(t, {}, cache)
  const search = opened.service
  const find = (query: string): Promise<SearchAnswer> => search.search(query, { top_k: 3, patience_ms }, never)

  await t.test('words answer alone until it is loaded, which the first search begins', async t => {
    await search.index(shelf)
    t.match(search.state?.(), { mode: 'lexical', model: 'idle', indexed: 0, total: 8 })
    const { mode, results } = await search.search('commit history', { top_k: 1 }, never)
    t.equal(mode, 'lexical')
    t.equal(results[0]?.tool_name, 'log')
    t.match(search.state?.(), { model: 'loading' })
    await until(() => search.state?.()?.mode === 'hybrid')
    t.match(search.state?.(), { mode: 'hybrid', model: 'ready', indexed: 8, total: 8 })
    t.equal(opened.degraded(), undefined)
  })

  await t.test('it gets ready before the first search, when one is announced', async t => {
    const { service: other } = await open(t, {})
    await other.index(shelf)
    t.equal(other.state?.()?.model, 'idle')
    other.prepare?.()
    await until(() => other.state?.()?.mode === 'hybrid')
    const { mode } = await other.search('commit history', { top_k: 1 }, never)
    t.equal(mode, 'hybrid', 'the first search of all')
  })

  await t.test('what has no word in common with a tool finds it', async t => {
    await search.index(shelf)
    for (const [query, wanted] of [
      ['will I need an umbrella tomorrow?', 'getWeatherForecast'],
      ['whose fault is this bug', 'blame'],
      ['how long is my essay', 'count'],
      ['write to my colleague', 'send']
    ] as const) {
      const { mode, results } = await find(query)
      t.equal(mode, 'hybrid')
      t.equal(
        results[0]?.tool_name,
        wanted,
        `${query}: ${results.map(({ tool_name, score }) => `${tool_name} ${score}`).join(', ')}`
      )
    }
  })

  await t.test('what is asked before or behind a pasted text is found', async t => {
    await search.index(shelf)
    const log = 'lorem ipsum dolor sit amet consectetur\n'.repeat(1_600)
    for (const query of [`show the commit history\n${log}`, `${log}\nshow the commit history`]) {
      t.equal((await find(query.slice(0, 65_536))).results[0]?.tool_name, 'log')
    }
  })

  await t.test('each thing that a query asks for is found', async t => {
    await search.index(shelf)
    const { results } = await find('Will it rain in Oslo on Monday? Then let Anna know by e-mail.')
    t.same(results.slice(0, 2).map(({ tool_name }) => tool_name).sort(), ['getWeatherForecast', 'send'])
  })

  await t.test('it is a search', t => testSearch(t, async () => {
    await search.index([])
    return { service: search, close: async () => {} }
  }, { patience_ms }))

  await t.test('a changed skill is embedded anew, the others are not', async t => {
    await search.index(shelf)
    await find('commit history')
    written.length = 0
    await search.index([
      ...shelf.slice(1),
      searchable('git', 'Read a git repository', {
        log: 'Show the commit history',
        stars: 'Tell which constellations can be seen tonight'
      })
    ])
    t.equal((await find('astronomy')).results[0]?.tool_name, 'stars')
    await until(() => written.length > 0)
    t.equal(written.length, 1, 'one text')
  })

  await t.test('a query that was asked before the tools changed is answered from those of before', async t => {
    await search.index(shelf)
    await find('commit history')
    const ask = (): Promise<SearchAnswer[]> =>
      Promise.all(Array.from({ length: 20 }, (_, i) => find(`whose fault is bug number ${i}`)))
    const before = await ask()
    await search.index(shelf)
    await find('commit history')
    const asked = ask()
    await new Promise(resolve => { setImmediate(resolve) })
    await search.index(shelf.toReversed().map(skill => ({ ...skill, tools: skill.tools.toReversed() })))
    t.same(await asked, before)
  })

  await t.test('after a restart nothing is embedded anew; damaged vectors are', async t => {
    await search.index(shelf)
    await find('commit history')
    const keys: string[] = []
    written.length = 0
    const damaging: Cache = {
      async read (asked) {
        keys.push(...asked)
        const values = await memory.read(asked)
        return values.map((value, i) =>
          i === 0
            ? new Uint8Array(new Float32Array(384).fill(Number.NaN).buffer)
            : i === 1 ? value?.slice(0, 40) : value)
      },
      async write (entries) { written.push(...entries.map(([key]) => key)) }
    }
    const { service: again } = await open(t, { preload: true }, damaging)
    await again.index(shelf)
    const { mode, results } = await again.search('umbrella tomorrow', { top_k: 1, patience_ms }, never)
    t.same([mode, results[0]?.tool_name], ['hybrid', 'getWeatherForecast'])
    await until(() => written.length > 0)
    t.equal(keys.length, 8)
    t.same(written, keys.slice(0, 2))
  })

  await t.test('an answer is kept until what can be found changes', async t => {
    await search.index(shelf)
    const one = await find('a question')
    t.equal(await find('a question'), one)
    t.not(await search.search('a question', { top_k: 3, patience_ms, allows: () => false }, never), one)
    await search.index(shelf)
    t.not(await find('a question'), one)
  })
})

t.test('where the native library can not be loaded, WebAssembly gives nearly the same vectors', async t => {
  const data = { model, models_dir: '', allow_download: false, threads: 1 }
  const native = await Model.load(data)
  const slower = await Model.load(data, () => Promise.reject(new Error('no binary')))
  t.match(modelFinding(data, native), { level: 'ok', text: /384 numbers a text, by onnxruntime-node$/ })
  t.match(modelFinding(data, slower), {
    level: 'note', text: /onnxruntime-web, .*no binary/, remedy: /ONNXRUNTIME_NODE_INSTALL=skip/
  })
  t.equal(slower.id, native.id, 'kept vectors are good for both')
  const same = (a: Float32Array | undefined, b: Float32Array | undefined): boolean =>
    a !== undefined && a.length === b?.length && a.reduce((sum, number, i) => sum + number * (b[i] ?? 0), 0) > 0.99
  const texts =
    ['whose fault is this bug', 'Résumé — naïve café, 天気', 'is it 3.5? yes. [SEP] [UNK] ##ing', 'long '.repeat(400), '']
  for (const text of texts) {
    t.same(Array.from(slower.runtime.tokenize(text, true).ids), Array.from(native.runtime.tokenize(text, true).ids))
    t.ok(same(await native.embed(text), await slower.embed(text)), text.slice(0, 40))
  }
  for (const text of ['Will it rain? Let Anna know. And Bob.', '天気は 明日', '☃ ☃ ☃']) {
    const [one, other] = await Promise.all([native.embedQuery(text), slower.embedQuery(text)])
    t.equal(one === undefined, other === undefined, text)
    t.equal(one?.parts.length, other?.parts.length, text)
    t.ok((one?.parts ?? []).every((part, i) => same(part, other?.parts[i])), text)
  }
  await t.rejects(
    Model.load({ ...data, model: 'somebody/some-model' }, () => Promise.reject(new Error('no binary'))),
    /somebody\/some-model .*no binary/
  )
})

t.test('where the model can not be used, words answer alone, and the plugin says why', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-model-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const damaged = async (name: string, damage: (file: string, copy: string) => Promise<void>): Promise<string> => {
    const copy = join(folder, name)
    await cp(model, copy, { recursive: true })
    await damage(join(copy, 'onnx/model_quantized.onnx'), copy)
    return copy
  }
  const flipped = await damaged('flipped', async file => {
    const handle = await openFile(file, 'r+')
    await handle.write(Buffer.from([0x5a]), 0, 1, 12_000_000)
    await handle.close()
  })
  const cut = await damaged('cut', async (file, copy) => {
    await writeFile(file, (await readFile(file)).subarray(0, 1_000_000))
    await rm(join(copy, 'SHA256SUMS'))
  })
  const absent = await damaged('absent', file => rm(file))
  for (const [place, reason] of [
    [flipped, /flipped.*model_quantized\.onnx is damaged/],
    [cut, /the model can't be used: .+/],
    [absent, /model_quantized\.onnx/],
    [join(folder, 'nowhere'), /there is no model in .*nowhere/],
    ['somebody/some-model', /the model can't be used: .+/]
  ] as const) {
    const opened = await open(t, { model: place })
    await opened.service.index(shelf)
    const { mode, results } = await opened.service.search('commit history', { top_k: 1, patience_ms }, never)
    t.same([mode, results[0]?.tool_name], ['lexical', 'log'], place)
    t.match(opened.degraded(), reason, place)
    t.match(opened.service.state?.(), { mode: 'lexical', model: 'failed', indexed: 0 })
    await opened.close()
    t.match(
      await examine({ model: place, models_dir: folder, allow_download: false, threads: 1 }),
      [{ level: 'problem', text: reason }],
      place
    )
  }
  t.match(await examine({ model, models_dir: folder, allow_download: false, threads: 1 }), [
    { level: 'ok', text: /384/ }
  ])
})

t.test('a thread that dies or hangs', async t => {
  const thread = new URL('../fixtures/failing-thread.mjs', import.meta.url)
  const find = async (embedder: Embedder, signal: AbortSignal): Promise<Found | undefined> => {
    const question = embedder.ask({ text: 'x', nearest: 1 })
    try {
      return await question?.compare(new Uint32Array(0), signal)
    } finally {
      question?.close()
    }
  }
  const start = (t: Test, kind: string): Embedder => {
    const embedder = new Embedder({
      model: kind, models_dir: '', allow_download: false, threads: 1, cache: new MemoryCache(), log: silentLogger,
      thread, answer_ms: 20, onChange () {}
    })
    t.teardown(() => embedder.close())
    embedder.index(['a tool'])
    embedder.start()
    return embedder
  }
  for (const kind of ['dies', 'throws', 'hangs']) {
    await t.test(`${kind}: is started again, and given up in the end; no query is left without an answer`, async t => {
      const embedder = start(t, kind)
      for (let death = 1; death <= 3; death++) {
        await until(() => embedder.state === 'ready')
        const found = await Promise.all([find(embedder, never), find(embedder, never)])
        t.same(found, [undefined, undefined])
        await until(() => embedder.state !== 'ready')
        t.match(embedder.reason, death < 3 ? /it is started again/ : /died 3 times/)
      }
      t.equal(embedder.state, 'failed')
      t.equal(await find(embedder, never), undefined)
      embedder.start()
      t.equal(embedder.state, 'failed')
    })
  }

  await t.test('says what makes no sense: is started again, and given up in the end', async t => {
    const embedder = start(t, 'raves')
    await until(() => embedder.state === 'failed')
    t.match(embedder.reason, /died 3 times, last because it said what makes no sense/)
  })

  await t.test('a model that lacks something is tried again, until it is there', async t => {
    const models_dir = join(t.testdir(), 'model')
    let changes = 0
    const embedder = new Embedder({
      model: 'lacks', models_dir, allow_download: false, threads: 1, cache: new MemoryCache(), log: silentLogger,
      thread, again_ms: 10, onChange () { changes++ }
    })
    t.teardown(() => embedder.close())
    embedder.index(['a tool'])
    embedder.start()
    await until(() => embedder.state === 'failed' && changes > 6)
    t.match(embedder.reason, /there is no .*model/)
    await writeFile(models_dir, '')
    await until(() => embedder.state === 'ready')
    t.equal(embedder.reason, undefined)
  })

  await t.test('a query that nobody waits for is forgotten', async t => {
    const embedder = start(t, 'hangs')
    await until(() => embedder.state === 'ready')
    const gone = new AbortController()
    const found = find(embedder, gone.signal)
    gone.abort(new Error('gone'))
    await t.rejects(found, { message: 'gone' })
    const closing = find(embedder, never)
    await embedder.close()
    t.equal(await closing, undefined)
  })
})
