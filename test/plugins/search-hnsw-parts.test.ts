import fc from 'fast-check'
import t from 'tap'
import { Best } from '../../plugins/search-hnsw/words/best.ts'
import { essenceOf } from '../../plugins/search-hnsw/meaning/query.ts'
import { loadGraphs } from '../../plugins/search-hnsw/meaning/graph.ts'
import { LexicalIndex } from '../../plugins/search-hnsw/words/lexical-index.ts'
import { Matrix } from '../../plugins/search-hnsw/meaning/matrix.ts'
import { rank } from '../../plugins/search-hnsw/ranking.ts'
import { sentencesOf } from '../../plugins/search-hnsw/words/sentences.ts'
import { Vectors } from '../../plugins/search-hnsw/meaning/vectors.ts'
import { inWords, isNear, stem, termsOf, wordsOf } from '../../plugins/search-hnsw/words/words.ts'
import { shelf } from '../conformance/search.ts'

t.test('identifiers are split into their words', async t => {
  t.same(termsOf('getWeatherForecast'), ['get', 'weather', 'forecast'].map(stem))
  t.same(wordsOf('getWeatherForecast')[0]?.whole, stem('getweatherforecast'))
  t.same(termsOf('snake_case kebab-case'), ['snake', 'case', 'kebab', 'case'].map(stem))
  t.same(termsOf('HTTPServer2'), ['http', 'server', '2'].map(stem))
  t.same(termsOf('Überprüfung der Größe'), ['uberprufung', 'der', 'große'].map(stem))
  t.same(termsOf('天気予報'), ['天気', '気予', '予報'])
  t.same(termsOf('what is the'), [])
  for (const [name, words] of [
    ['getHTTPStatus_code', 'get HTTP Status code'],
    ['list-unread', 'list unread'],
    ['v2Beta', 'v2 Beta'],
    ['plain', 'plain']
  ] as const) {
    t.equal(inWords(name), words)
  }
})

t.test('forms of a word meet', async t => {
  for (const [a, b] of [
    ['branches', 'branch'], ['committed', 'commit'], ['hashing', 'hash'], ['files', 'file'], ['queries', 'query'],
    ['changed', 'change'], ['converting', 'converts'], ['messages', 'message']
  ] as const) {
    t.equal(stem(a), stem(b), `${a} and ${b}`)
  }
  t.not(stem('status'), stem('state'))
})

t.test('words one mistake apart are near: a character more, less or another, or two swapped', async () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 })
  fc.assert(fc.property(word, word, (a, b) => isNear(a, b) === distance(a, b) <= 1))
})

/** The edit distance, by its definition, where two swapped neighbours count as one mistake. */
function distance (a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  if (a[0] === b[0]) return distance(a.slice(1), b.slice(1))
  const swapped = a.length > 1 && a[0] === b[1] && a[1] === b[0]
  return 1 + Math.min(distance(a.slice(1), b), distance(a, b.slice(1)), distance(a.slice(1), b.slice(1)),
    ...(swapped ? [distance(a.slice(2), b.slice(2))] : []))
}

t.test('a query is taken apart into sentences, a few at most', async t => {
  t.same(sentencesOf('one thing'), [])
  t.same(sentencesOf('Is it 3.5? Yes.\nGood'), ['Is it 3.5?', 'Yes.', 'Good'])
  t.same(sentencesOf('天気は？明日'), ['天気は？', '明日'])
  const many = sentencesOf(Array.from({ length: 50 }, (_, i) => `Do ${i}.`).join(' '))
  t.equal(many.length, 8)
  t.same([...many.slice(0, 4), ...many.slice(-3)], [0, 1, 2, 3, 47, 48, 49].map(i => `Do ${i}.`))
  t.match(many[4], /^Do 4\. .*Do 46\.$/)
})

t.test('whatever the evidence, candidates are ranked once each, by scores within 0..1 that never rise', async () => {
  const index = await LexicalIndex.of(shelf)
  const numbers = Uint32Array.from(index.tools.keys())
  fc.assert(fc.property(
    fc.string({ unit: 'binary' }),
    fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 }),
    fc.boolean(),
    fc.subarray([...numbers]),
    (query, cosines, semantic, known) => {
      const found = { tools: Uint32Array.from(known), cosines: Float32Array.from(cosines), mean: 0.1, deviation: 0.1 }
      const ranked = rank(numbers, query, index, index.match(query), semantic ? found : undefined, numbers.length)
      return new Set(ranked.tools).size === numbers.length && ranked.scores.length === numbers.length
        && ranked.scores.every((score, i) => score >= 0 && score <= 1 && score <= (ranked.scores[i - 1] ?? 1))
    }
  ))
})

t.test('the best of many are those that sorting puts first, of equals the lowest', async () => {
  fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 9 })), fc.integer({ min: 1, max: 12 }), (scores, max) => {
    const best = new Best(max)
    for (const [number, score] of scores.entries()) best.offer(number, score)
    const sorted = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    return best.sorted().join() === sorted.slice(0, max).join()
  }))
})

t.test('rows of any length stay what they are while their matrix grows, and their products are right', async () => {
  const numbers = fc.float({ min: -1, max: 1, noNaN: true })
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 40 }).chain(columns =>
      fc.array(fc.array(numbers, { minLength: columns, maxLength: columns }), { minLength: 2, maxLength: 20 })),
    rows => {
      const columns = rows[0]?.length ?? 0
      const matrix = new Matrix(columns)
      for (const [i, row] of rows.entries()) matrix.set(i * 50, Float32Array.from(row))
      return rows.every((row, i) => matrix.at(i * 50).every((number, j) => number === row[j])
        && rows.every((other, j) =>
          Math.abs(matrix.dot(i * 50, j * 50) - row.reduce((sum, number, k) => sum + number * (other[k] ?? 0), 0))
            < 1e-4))
    }
  ))
})

t.test('vectors: what is found is what comparing with all finds, whatever came and went', async t => {
  const texts = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 })
  fc.assert(fc.property(
    fc.array(texts, { minLength: 1, maxLength: 6 }),
    fc.integer({ min: 0, max: 30 }),
    fc.integer({ min: 1, max: 30 }),
    (steps, asked, nearest) => {
      const vectors = new Vectors(4, undefined)
      let made = 0
      for (const [i, step] of steps.entries()) {
        vectors.replace(step.map(String))
        for (const text of vectors.waiting) {
          vectors.add(text, vectorOf(Number(text)))
          made++
        }
        const before = new Set(steps[i - 1])
        if (i > 0 && [...vectors.waiting].length > 0) return false
        if (i > 0 && step.every(text => before.has(text)) && made > steps.slice(0, i).flat().length) return false
      }
      const last = steps.at(-1) ?? []
      const found = vectors.find(vectorOf(asked), [], nearest, new Uint32Array(0))
      const expected = last.map((text, tool) => ({ tool, cosine: dot(vectorOf(text), vectorOf(asked)) }))
        .sort((a, b) => b.cosine - a.cosine)
        .slice(0, nearest)
      const { indexed, total } = vectors.progress
      return indexed === last.length && total === last.length && found.tools.length === expected.length
        && expected.every(({ cosine }, i) =>
          Math.abs(cosine - ([...found.cosines].sort((a, b) => b - a)[i] ?? 9)) < 1e-5)
    }
  ))
  const vectors = new Vectors(4, undefined)
  vectors.replace(['a'])
  t.throws(() => { vectors.add('a', new Float32Array([Number.NaN, 0, 0, 0])) }, /no vector/)
  t.throws(() => { vectors.add('a', new Float32Array([1, 0])) }, /no vector/)
})

// The package is optional: it is missing where it could not be compiled, and vectors are compared one by one then.
const noGraphs = await loadGraphs().then(() => false, () => 'hnswlib-node is not installed')

t.test('through the graph nearly all of the nearest are found, through growth and compaction', {
  skip: noGraphs
}, async t => {
  const makeGraph = await loadGraphs()
  const dimensions = 16
  const random = seededRandom(7)
  const texts = Array.from({ length: 900 }, (_, i) => String(i))
  const all = new Map(texts.map(text => [text, unit(Float32Array.from({ length: dimensions }, () => random() - 0.5))]))
  const graphed = new Vectors(dimensions, makeGraph, 100)
  const compared = new Vectors(dimensions, undefined)
  const fill = (some: readonly string[]): void => {
    for (const vectors of [graphed, compared]) {
      vectors.replace(some)
      for (const text of vectors.waiting) vectors.add(text, all.get(text) ?? new Float32Array(0))
      while (vectors.grow());
    }
  }
  for (const [from, to] of [[0, 150], [0, 700], [100, 800], [600, 900], [600, 720], [0, 900]] as const) {
    fill(texts.slice(from, to))
    let missed = 0
    for (let i = 0; i < 30; i++) {
      const query = unit(Float32Array.from({ length: dimensions }, () => random() - 0.5))
      const found = new Set(graphed.find(query, [], 20, new Uint32Array(0)).tools)
      for (const tool of compared.find(query, [], 20, new Uint32Array(0)).tools) if (!found.has(tool)) missed++
    }
    t.ok(missed <= 12, `${missed} of 600 missed among ${to - from}`)
  }
})

function unit (vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector))
  return vector.map(value => value / length)
}

/** Mulberry32. */
function seededRandom (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function vectorOf (seed: number): Float32Array {
  const vector = Float32Array.from([Math.sin(seed), Math.cos(seed * 2), Math.sin(seed * 3), Math.cos(seed * 5)])
  const length = Math.sqrt(dot(vector, vector))
  return vector.map(value => value / length)
}

function dot (a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}

t.test('of a long query its beginning and its end count, cut between words', async t => {
  const words = (count: number): string => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')
  for (const short of ['', 'commit history', 'x'.repeat(600)]) t.equal(essenceOf(short), short)
  const long = `commit history ${words(10_000)} of the repository`
  const essence = essenceOf(long)
  t.ok(essence.length <= 601, `${essence.length} characters`)
  t.match(essence, /^commit history word0 .*\n.* of the repository$/s)
  for (const word of essence.split(/\s/)) t.ok(` ${long} `.includes(` ${word} `), word)
  t.equal(essenceOf('x'.repeat(60_000)).length, 601, 'a text without words is cut anywhere')
})
