/**
 * The entry of the thread that holds the model and the vectors. It does one task at a time, in small steps: queries go
 * before the embedding of tools, so that a query waits for the embedding of one text at most.
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
 * The niceness of this thread. Threads that answer requests need a core for a moment only; without a lower priority of
 * this thread, they would wait for the end of its time slice, up to 4 ms.
 */
const nice = 5
/** The number of keys that are looked up in the cache at once. */
const readMax = 250
/** The number of new vectors that are written to the cache at once. */
const writeMax = 50

const port = parentPort
if (port === null) throw new Error('this file is the entry of a thread')
const data = workerData as ThreadData // made by model-thread.ts
type Of<Type extends ToThread['type']> = Extract<ToThread, { type: Type }>
const post = (message: FromThread): void => { port.postMessage(message) }
const tell = ({ progress }: Vectors): void => { post({ type: 'progress', generation, ...progress }) }

const queries = new Map<number, QueryMessage>()
/** The additional tools that a query must be compared with, by the query's id; absent until the message arrives. */
const also = new Map<number, Uint32Array>()
let wake: () => void = () => {}
let cached: (values: readonly (Uint8Array | undefined)[]) => void = () => {}
/** The requests to do next, besides the queries. */
const pending: { index?: Of<'index'> | undefined, end: boolean } = { end: false }
/** The generation of the tools. A query belongs to one generation, since another generation has other numbers. */
let generation = 0
/** The number of requests to the cache. Declared here, since requests are made before the end of this file runs. */
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

if (process.platform === 'linux') setPriority(nice) // on other systems it would apply to the whole process
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

/** Loads the function that makes HNSW graphs; gives the reason when it can't be loaded. */
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
    await new Promise(resolve => { setImmediate(resolve) }) // so that messages can arrive
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

/** Adds the missing vectors in small steps: first those that are in the cache, then new ones. */
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

/** Reads vectors from the main thread's cache, in the order of the keys; undefined for a missing one. */
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
