/**
 * The entry of the thread that holds the model and the vectors. It does one thing at a time, in small steps: a query
 * goes before the embedding of tools, and waits for one text of those at most.
 */
import { createHash } from 'node:crypto'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { loadGraphs } from './graph.ts'
import { Model } from './model.ts'
import type { Found, FromThread, QueryMessage, ThreadData, ToThread } from './protocol.ts'
import { reasonOf } from './runtime.ts'
import { Vectors, type MakeGraph } from './vectors.ts'

/**
 * It gives way to the threads that answer, which need a core for a moment only: a thread that wakes where another
 * computes waits for the end of a time slice, up to 4 ms, unless the other counts for less.
 */
const nice = 5
/** Keys that are looked up in the cache at once. */
const readMax = 250
/** New vectors that are given to the cache at once. */
const writeMax = 50

const port = parentPort
if (port === null) throw new Error('this file is the entry of a thread')
const data = workerData as ThreadData // made by model-thread.ts
type Of<Type extends ToThread['type']> = Extract<ToThread, { type: Type }>
const post = (message: FromThread): void => { port.postMessage(message) }
const tell = ({ progress }: Vectors): void => { post({ type: 'progress', generation, ...progress }) }

const queries = new Map<number, QueryMessage>()
/** What queries are to be compared with beside the nearest, once it is known. */
const also = new Map<number, Uint32Array>()
let wake: () => void = () => {}
let cached: (values: readonly (Uint8Array | undefined)[]) => void = () => {}
/** What it is asked to do next, beside the queries. */
const pending: { index?: Of<'index'> | undefined, end: boolean } = { end: false }
/** Which tools are known; a query is about those of one generation, whose numbers mean nothing in another. */
let generation = 0
/** Counts what was asked of the cache; here, since all of it happens before the end of this file is reached. */
let reads = 0
const nothing: Found = { tools: new Uint32Array(0), cosines: new Float32Array(0), mean: 0, deviation: 1 }
port.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'index': pending.index = message; break
    case 'query': queries.set(message.id, message); break
    case 'also':
      if (queries.has(message.id)) also.set(message.id, message.tools)
      break
    case 'forget': forget(message.id); break
    case 'cached': cached(message.values); break
    case 'end':
      pending.end = true
      cached([])
      break
  }
  wake()
})

if (process.platform === 'linux') setPriority(nice) // elsewhere it is the whole process's
try {
  const model = await Model.load(data)
  const { makeGraph, reason } = await graphs()
  const { id, dimensions, runtime } = model
  const slower = runtime.reason === undefined ? {} : { slower: runtime.reason }
  const exact = reason === undefined ? {} : { exact: reason }
  post({ type: 'ready', model: id, dimensions, runtime: runtime.name, ...slower, ...exact })
  await serve(model, new Vectors(model.dimensions, makeGraph))
} catch (error) {
  post({ type: 'failed', reason: reasonOf(error) })
}
port.close()

/** Makes indexes of the nearest, or the reason why there can be none. */
async function graphs (): Promise<{ makeGraph?: MakeGraph, reason?: string }> {
  try {
    return { makeGraph: await loadGraphs() }
  } catch (error) {
    return { reason: reasonOf(error) }
  }
}

async function serve (model: Model, vectors: Vectors): Promise<void> {
  let work = build(model, vectors)
  while (!pending.end) {
    const [query] = queries.values()
    if (pending.index !== undefined && query?.generation !== generation) {
      vectors.replace(pending.index.texts)
      generation = pending.index.generation
      pending.index = undefined
      work = build(model, vectors)
    }
    if (query !== undefined) {
      if (query.generation === generation) await answer(query, model, vectors)
      else post({ type: 'error', id: query.id, reason: 'what can be found has changed since it was asked' })
      forget(query.id)
    } else if ((await work.next()).done === true) {
      if (queries.size === 0 && pending.index === undefined && !pending.end) await nextMessage()
      continue
    }
    await new Promise(resolve => { setImmediate(resolve) }) // lets messages in
  }
}

async function answer ({ id, text, nearest, among }: QueryMessage, model: Model, vectors: Vectors): Promise<void> {
  try {
    const embedding = await model.embedQuery(text)
    if (embedding === undefined) return post({ type: 'found', id, found: nothing })
    while (!also.has(id)) {
      if (!queries.has(id) || pending.end) return
      await nextMessage()
    }
    const candidates = also.get(id) ?? new Uint32Array(0)
    post({ type: 'found', id, found: vectors.find(embedding.whole, embedding.parts, nearest, candidates, among) })
  } catch (error) {
    post({ type: 'error', id, reason: reasonOf(error) })
  }
}

function forget (id: number): void {
  queries.delete(id)
  also.delete(id)
}

/** Waits for the next message. */
function nextMessage (): Promise<void> {
  return new Promise(resolve => { wake = resolve })
}

/** Brings in the vectors that are missing, first those that the cache has, a small step at a time. */
async function * build (model: Model, vectors: Vectors): AsyncGenerator<undefined, undefined> {
  const waiting = [...vectors.waiting]
  const missing: string[] = []
  for (let i = 0; i < waiting.length; i += readMax) {
    const some = waiting.slice(i, i + readMax)
    for (const [j, vector] of (await readCache(some.map(text => keyOf(model, text)))).entries()) {
      const text = some[j] ?? ''
      if (vector?.length === model.dimensions && vector.every(Number.isFinite)) vectors.add(text, vector)
      else missing.push(text)
    }
    tell(vectors)
    yield
  }
  let made: [string, Uint8Array][] = []
  for (const text of missing) {
    const vector = await model.embed(text)
    vectors.add(text, vector)
    made.push([keyOf(model, text), new Uint8Array(vector.buffer.slice(0))])
    vectors.grow()
    if (made.length === writeMax) {
      post({ type: 'write', entries: made })
      made = []
      tell(vectors)
    }
    yield
  }
  if (made.length > 0) post({ type: 'write', entries: made })
  tell(vectors)
  while (vectors.grow()) yield
  return undefined
}

function keyOf (model: Model, text: string): string {
  return `vector ${model.id} ${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
}

/** What the main thread's cache has of these keys. */
async function readCache (keys: readonly string[]): Promise<(Float32Array | undefined)[]> {
  const values = await new Promise<readonly (Uint8Array | undefined)[]>(resolve => {
    cached = resolve
    post({ type: 'read', id: ++reads, keys })
  })
  return keys.map((_, i) => {
    const value = values[i]
    return value === undefined || value.length % 4 !== 0 ? undefined : new Float32Array(value.slice().buffer)
  })
}
