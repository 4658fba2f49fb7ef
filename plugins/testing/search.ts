import type { Search, SearchOptions, SkillDefinition } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import type { Opened } from './open-plugin.ts'

const never = new AbortController().signal

/** A skill with tools of these names and descriptions. */
export function searchable (
  name: string, description: string, tools: Record<string, string>, parameters: readonly string[] = []
): SkillDefinition {
  return {
    name, description, runtime: 'native', permissions: { network: false, write: [], env: [], secrets: [] },
    directory: `/skills/${name}`, revision: '1', trusted: false,
    tools: Object.entries(tools).map(([name, description]) => ({
      name,
      description,
      parameters: parameters.map(name => ({ name, type: 'string' as const, description: name, required: false })),
      input_schema: { type: 'object' },
      secrets: []
    }))
  }
}

export const shelf: readonly SkillDefinition[] = [
  searchable(
    'git',
    'Read a git repository',
    {
      log: 'Show the commit history',
      blame: 'Show who last changed each line of a file',
      branches: 'List the branches'
    },
    ['repository', 'revision']
  ),
  searchable(
    'text',
    'Work on texts',
    {
      count: 'Count the words, lines and characters of a text',
      change_case: 'Change the case of a text: upper, lower, camel, snake'
    },
    ['text']
  ),
  searchable('weather', 'Forecasts', { getWeatherForecast: 'Tell the weather of the coming days in a city' }, [
    'cityName', 'temperature_unit'
  ]),
  searchable(
    'mail',
    'Send and read e-mail',
    { send: 'Send a message to somebody', 'list-unread': 'List messages that were not read yet' },
    ['recipient']
  )
]

/** What the suite needs to know of a search. */
export interface SearchHarness {
  /** Opens an empty one. */
  open (): Promise<Pick<Opened<Search>, 'service' | 'close'>>
  /** Goes with each search, such as patience until the best method serves. */
  more?: Partial<SearchOptions>
}

/** What every search must do, whatever its method. */
export async function testSearch (t: TestContext, { open: openOne, more = {} }: SearchHarness): Promise<void> {
  const open = async (t: TestContext): Promise<Search> => {
    const opened = await openOne()
    t.teardown(() => opened.close())
    return opened.service
  }
  const first = async (search: Search, query: string): Promise<string | undefined> => {
    const [result] = (await search.search(query, { top_k: 5, ...more }, never)).results
    return result && `${result.skill_name}:${result.tool_name}`
  }

  await t.test('it finds the tool that a query is about', async t => {
    const search = await open(t)
    await search.index(shelf)
    for (const [query, wanted] of [
      ['count the words of a text', 'text:count'],
      ['who changed this line?', 'git:blame'],
      ['commit history', 'git:log'],
      ['what will the weather be in Paris', 'weather:getWeatherForecast'],
      ['send an e-mail message', 'mail:send'],
      ['change the case', 'text:change_case']
    ] as const) t.equal(await first(search, query), wanted, query)
  })

  await t.test('results are the best first, each once, at most as many as asked for, with scores within 0..1', async t => {
    const search = await open(t)
    await search.index(shelf)
    for (const top_k of [1, 3, 100]) {
      const { mode, results } =
        await search.search('list messages, branches and the history of a text file', { top_k, ...more }, never)
      t.ok(mode.length > 0 && results.length >= 1 && results.length <= top_k)
      t.same(results.map(result => result.score), results.map(result => result.score).sort((a, b) => b - a))
      t.ok(results.every(({ score }) => score >= 0 && score <= 1))
      t.equal(new Set(results.map(result => `${result.skill_name}:${result.tool_name}`)).size, results.length)
      t.ok(results.every(result => shelf.some(skill =>
        skill.name === result.skill_name
        && skill.tools.some(tool => tool.name === result.tool_name && tool.description === result.description))))
    }
  })

  await t.test('a new index replaces the old one whole; without one, nothing is found', async t => {
    const search = await open(t)
    t.same((await search.search('commit history', { top_k: 5, ...more }, never)).results, [])
    await search.index(shelf)
    await search.index([searchable('only', 'The one skill', { tool: 'Paint a picture' })])
    t.same(
      (await search.search('commit history of the weather', { top_k: 5, ...more }, never)).results.filter(result =>
        result.skill_name !== 'only'),
      []
    )
    t.equal(await first(search, 'paint a picture'), 'only:tool')
    await search.index([])
    t.same((await search.search('paint', { top_k: 5, ...more }, never)).results, [])
  })

  await t.test('it serves while a new index is made', async t => {
    const search = await open(t)
    await search.index(shelf)
    const many = Array.from({ length: 20 }, (_, i) => searchable(
      `skill-${i}`,
      `Number ${i}`,
      Object.fromEntries(Array.from({ length: 5 }, (_, j) => [`tool${j}`, `Does thing ${i * 5 + j}`]))
    ))
    const made = search.index([...shelf, ...many])
    t.equal(await first(search, 'commit history'), 'git:log')
    await made
    t.equal(await first(search, 'commit history'), 'git:log')
  })

  await t.test('any query is answered', async t => {
    const search = await open(t)
    await search.index(shelf)
    for (const query of [
      ' ', '?!', '🎉🎉', '\u0000\u0007\u001b[2J', '\ud800', 'the of and', '__proto__', 'constructor toString',
      '.*(a+)+$', '天気予報', 'ปกติ', 'İstanbul ﬁ',
      'x'.repeat(65_536), 'a '.repeat(32_768), '-_'.repeat(32_768), '\ud83d\ude00'.repeat(32_768),
      Array.from({ length: 400 }, (_, i) => `w${i}`).join(' ').slice(0, 2000)
    ]) {
      const { results } = await search.search(query, { top_k: 5, ...more }, never)
      t.ok(results.every(({ score }) => score >= 0 && score <= 1), JSON.stringify(query.slice(0, 20)))
    }
  })

  await t.test('it finds only what it is asked to look among, with the same scores, and nothing below the least score', async t => {
    const search = await open(t)
    await search.index([
      ...shelf, { ...searchable('paint', 'Pictures', { text_on: 'Write a text on a picture' }), runtime: 'script' }
    ])
    const find = async (options: Partial<SearchOptions>): Promise<Map<string, number>> => {
      const { results } = await search.search('list the lines of a text', { top_k: 100, ...more, ...options }, never)
      return new Map(results.map(({ skill_name, tool_name, score }) => [`${skill_name}:${tool_name}`, score]))
    }
    const all = await find({})
    t.ok(all.has('git:blame') && all.has('text:count') && all.has('paint:text_on'), [...all.keys()].join(' '))
    const among = async (options: Partial<SearchOptions>, wanted: (id: string) => boolean): Promise<void> => {
      const answer = await find(options)
      t.same([...answer.keys()].sort(), [...all.keys()].filter(wanted).sort(), JSON.stringify(options))
    }
    await among({ skills: ['git', 'mail', 'nobody'] }, id => id.startsWith('git:') || id.startsWith('mail:'))
    await among({ skills: ['nobody'] }, () => false)
    await among({ runtime: 'script' }, id => id.startsWith('paint:'))
    await among({ runtime: 'script', skills: ['git'] }, () => false)
    await among(
      { allows: (skill, tool) => skill === 'text' || tool === 'blame' },
      id => id.startsWith('text:') || id === 'git:blame'
    )
    await among({ skills: ['text'], allows: skill => skill === 'git' }, () => false)
    const scores = [...all.values()]
    const least = scores[Math.floor(scores.length / 2)] ?? 0
    t.same([...await find({ min_score: least })], [...all].filter(([, score]) => score >= least))
    t.same([...await find({ min_score: 1 })], [])
    t.same([...await find({ skills: ['text'], min_score: 0 })].map(([id]) => id)[0], 'text:count', 'in order')
  })

  await t.test('the name of a tool finds it first, however it is written, and more surely than anything else', async t => {
    const search = await open(t)
    await search.index(shelf)
    for (const [query, wanted] of [
      ['getWeatherForecast', 'weather:getWeatherForecast'],
      ['get_weather_forecast', 'weather:getWeatherForecast'],
      ['change case', 'text:change_case'],
      ['git:log', 'git:log'],
      ['Git Log', 'git:log'],
      ['list-unread', 'mail:list-unread'],
      ['blame', 'git:blame'],
      ['send', 'mail:send']
    ] as const) {
      const [result] = (await search.search(query, { top_k: 5, ...more }, never)).results
      t.same([result?.skill_name, result?.tool_name].join(':'), wanted, query)
      t.ok((result?.score ?? 0) > 0.9, `"${query}" scores ${result?.score}`)
    }
  })

  await t.test('a score means the same from query to query', async t => {
    const search = await open(t)
    await search.index(shelf)
    const best = async (query: string): Promise<number> =>
      (await search.search(query, { top_k: 1, ...more }, never)).results[0]?.score ?? 0
    for (const query of [
      'show the commit history', 'who last changed this line of the file', 'what will the weather be in Paris',
      'weather forecst', 'count the words of my text'
    ]) {
      t.ok(await best(query) > 0.5, `"${query}" scores ${await best(query)}`)
    }
    for (const nonsense of ['qwrtzpl', 'zzzz yyyy xxxx', '🎉', 'quantum flux capacitor', 'asdf jkl', '%%%']) {
      t.ok(await best(nonsense) < 0.3, `"${nonsense}" scores ${await best(nonsense)}`)
    }
    t.ok(
      await best('count words') > await best('count words and braise a leg of lamb in red wine'),
      'what is not found counts against a tool'
    )
  })

  await t.test('an aborted search rejects', async t => {
    const search = await open(t)
    await search.index(shelf)
    await t.rejects(search.search('commit', { top_k: 5, ...more }, AbortSignal.abort(new Error('gone'))), {
      message: 'gone'
    })
  })
}
