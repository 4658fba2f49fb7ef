import t, { type Test } from 'tap'
import type { Search } from '../../kernel/index.ts'
import plugin from '../../plugins/search-hnsw/index.ts'
import { stem, termsOf } from '../../plugins/search-hnsw/words.ts'
import { searchable, shelf, testSearch } from '../conformance/search.ts'
import { openPlugin } from '../support/open-plugin.ts'

const never = new AbortController().signal

async function open (t: Test): Promise<Search> {
  const opened = await openPlugin(plugin)
  t.teardown(() => opened.close())
  return opened.service
}

t.test('it is a search', t => testSearch(t, open))

t.test('identifiers are split into their words', async t => {
  t.same(termsOf('getWeatherForecast'), ['getweatherforecast', 'get', 'weather', 'forecast'])
  t.same(termsOf('snake_case kebab-case'), ['snakecase', 'snake', 'case', 'kebabcase', 'kebab', 'case'].map(stem))
  t.same(termsOf('HTTPServer2'), ['httpserver2', 'http', 'server', '2'])
  t.same(termsOf('Überprüfung der Größe'), ['uberprufung', 'der', 'große'].map(stem))
  t.same(termsOf('天気予報'), ['天気予報', '天気', '気予', '予報'])
  t.same(termsOf('what is the'), [])
})

t.test('forms of a word meet', async t => {
  for (const [a, b] of [['branches', 'branch'], ['committed', 'commit'], ['hashing', 'hash'], ['files', 'file'], ['queries', 'query'], ['changed', 'change'], ['converting', 'converts'], ['messages', 'message']] as const) {
    t.equal(stem(a), stem(b), `${a} and ${b}`)
  }
  t.not(stem('status'), stem('state'))
})

t.test('a score means the same from query to query', async t => {
  const search = await open(t)
  await search.index(shelf)
  const best = async (query: string): Promise<number> => (await search.search(query, { top_k: 1 }, never)).results[0]?.score ?? 0
  for (const name of ['getWeatherForecast', 'get_weather_forecast', 'change_case', 'change case', 'git log', 'git:log', 'list-unread', 'blame']) {
    t.ok(await best(name) > 0.9, `the name "${name}" scores ${await best(name)}`)
  }
  t.ok(await best('show the commit history') > 0.5, 'a description')
  t.ok(await best('weather forecst') > 0.5, 'a slip of the pen')
  t.ok(await best('forec') > 0.5, 'a beginning')
  for (const nonsense of ['qwrtzpl', 'zzzz yyyy xxxx', '🎉', 'quantum flux capacitor']) t.ok(await best(nonsense) < 0.2, `"${nonsense}" scores ${await best(nonsense)}`)
  t.ok(await best('text') > await best('text about quantum chromodynamics'), 'what is not found counts against a tool')
})

t.test('parameter names find a tool', async t => {
  const search = await open(t)
  await search.index(shelf)
  t.equal((await search.search('temperature unit', { top_k: 1 }, never)).results[0]?.tool_name, 'getWeatherForecast')
})

t.test('making a large index lets the event loop turn', async t => {
  const search = await open(t)
  const skills = Array.from({ length: 200 }, (_, i) => searchable(`skill-${i}`, `Area ${i}`, Object.fromEntries(Array.from({ length: 10 }, (_, j) => [`operation_${j}`, `Performs operation ${j} on area ${i}`]))))
  let turns = 0
  const timer = setInterval(() => { turns++ }, 1)
  await search.index(skills)
  clearInterval(timer)
  t.ok(turns >= 5, `${turns} turns`)
  t.equal((await search.search('operation_7 area 123', { top_k: 1 }, never)).results[0]?.skill_name, 'skill-123')
})

t.test('when two indexes are made at once, the later one stays', async t => {
  const search = await open(t)
  const large = Array.from({ length: 100 }, (_, i) => searchable(`old-${i}`, 'Old', { paint: 'Paint a picture' }))
  const first = search.index(large)
  await Promise.all([first, search.index([searchable('new', 'New', { paint: 'Paint a picture' })])])
  t.same((await search.search('paint', { top_k: 5 }, never)).results.map(result => result.skill_name), ['new'])
})
