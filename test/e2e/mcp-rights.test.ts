import { createHash } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { EventStream, keyTables, RawHttp, type Message } from '../support/mcp-http.ts'
import { writeMcpSkills } from '../support/mcp-skills.ts'
import { makeHome, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const home = await makeHome()
t.teardown(home.remove)
await writeMcpSkills(home.skills)
const configuration = join(home.folder, 'skillet.toml')
const keys = {
  wide: { key: 'sk_of_the_wide_one' },
  narrow: { key: 'sk_of_the_narrow_one', settings: 'skills = ["own", "trial:echo"]' },
  blind: { key: 'sk_that_only_runs', settings: 'scopes = ["execute"]' },
  leaving: { key: 'sk_that_is_revoked' },
  greedy: { key: 'sk_that_opens_many' }
}
const mcp = '[mcp.resources]\n"mine://{text}" = "trial:echo"\n"foreign://json" = "trial:json"\n"foreign://{file}" = "trial:report"\n'
const configure = (given: Parameters<typeof keyTables>[0]): Promise<void> =>
  writeFile(configuration, mcp + keyTables(given))
await configure(keys)
let version = 0
const put = async (name: string): Promise<void> => {
  await mkdir(join(home.skills, name), { recursive: true })
  await writeFile(
    join(home.skills, name, 'skill.toml'),
    `description = "Says ${++version}"\n[[tools]]\nname = "say"\ndescription = "Say ${version}"\ncommand = ["printf", "${version}"]\n`
  )
}
await put('own')
await put('foreign')
const server = await startServer(home, ['--auth-required', '--no-bundled-skills'])
t.teardown(server.kill)
const wide = new RawHttp(server.url, keys.wide.key)
const narrow = new RawHttp(server.url, keys.narrow.key)

const uri = (name: string): string => `skill://${name}/SKILL.md`
const follow = (name: string): object =>
  ({ jsonrpc: '2.0', id: name, method: 'resources/subscribe', params: { uri: uri(name) } })
const listen = (names: readonly string[]): object =>
  ({ notifications: { resourcesListChanged: true, promptsListChanged: true, resourceSubscriptions: names.map(uri) } })
const followed = ({ messages }: EventStream): unknown[] => messages.flatMap(({ method, params }) =>
  method === 'notifications/resources/updated' ? [(params as { uri: string }).uri] : [])
const streamOf = async (http: RawHttp, session: Record<string, string>): Promise<EventStream> =>
  new EventStream(await http.ask('/mcp', { method: 'GET', headers: session }))

t.test('a key hears of the skills that it may see, and of no others', async t => {
  const streams: Record<'wide' | 'narrow', EventStream[]> = { wide: [], narrow: [] }
  for (const [name, http] of [['wide', wide], ['narrow', narrow]] as const) {
    const session = await http.open()
    const answers = await Promise.all(
      ['own', 'foreign', 'absent'].map(async skill => (await http.request(session, follow(skill)))[0])
    )
    if (name === 'wide') t.ok(answers.every(answer => answer !== undefined && 'result' in answer))
    else {
      t.match(answers[0], { result: {} })
      const messages = answers.slice(1).map(answer => JSON.stringify(answer?.['error']).replace(/foreign|absent/, '…'))
      t.match(messages[0], 'has no right to a skill \\"…\\"')
      t.equal(messages[0], messages[1], 'the answer does not tell whether it is there')
    }
    streams[name].push(
      await streamOf(http, session),
      new EventStream(await http.modern('subscriptions/listen', listen(['own', 'foreign', 'absent'])))
    )
  }
  const blindKey = new RawHttp(server.url, keys.blind.key)
  const blind = await streamOf(blindKey, await blindKey.open())
  await until(() => [streams.wide[1], streams.narrow[1]].every(stream => (stream?.messages.length ?? 0) > 0))
  t.match(
    streams.narrow[1]?.messages[0],
    { params: { notifications: { resourceSubscriptions: [uri('own')] } } },
    'what is followed is said'
  )
  t.notMatch(streams.narrow[1]?.text, 'foreign')

  // All are told of one change after the other: who hears of the last has heard of all that it will.
  const heard = streams.narrow.map(({ messages }) => messages.length)
  await put('foreign')
  await until(() => streams.wide.every(stream => followed(stream).includes(uri('foreign'))))
  await put('absent')
  await until(() => streams.wide.every(stream => followed(stream).includes(uri('absent'))))
  await rm(join(home.skills, 'absent'), { recursive: true })
  await until(() => streams.wide.every(stream => followed(stream).filter(one => one === uri('absent')).length === 2))
  t.same(streams.narrow.map(({ messages }) => messages.length), heard, 'nothing was said, not even that lists changed')
  await put('own')
  await until(() => [...streams.wide, ...streams.narrow].every(stream => followed(stream).includes(uri('own'))))
  for (const stream of streams.narrow) {
    t.same(followed(stream), [uri('own')])
    t.notMatch(stream.text, /foreign|absent/)
  }
  t.same(blind.messages, [], 'who may not read is told nothing')
})

t.test('what is listed is what the caller may see, whoever asked first', async t => {
  const entriesOf = async (http: RawHttp): Promise<{ uri: string, resources: { uri: string, digest: string }[] }[]> => {
    const [answer] = await http.request(await http.open(), { jsonrpc: '2.0', id: 1, method: 'skills/list' })
    return (answer as {
      result: { skills: { uri: string, resources: { uri: string, digest: string }[] }[] }
    }).result.skills
  }
  for (const http of [wide, narrow, wide]) {
    const session = await http.open()
    const [
      read
    ] = await http.request(session, { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: uri('trial') } })
    const [{ text }] = (read as { result: { contents: [{ text: string }] } }).result.contents
    const entry = (await entriesOf(http)).find(one => one.uri === uri('trial'))
    t.equal(
      entry?.resources.find(one => one.uri === uri('trial'))?.digest,
      `sha256:${createHash('sha256').update(text).digest('hex')}`
    )
  }
  t.same((await entriesOf(narrow)).map(entry => entry.uri), [uri('own'), uri('trial')])

  const session = await narrow.open()
  const answers = await Promise.all([{ method: 'resources/list' }, { method: 'resources/templates/list' }].map(
    async message => JSON.stringify(await narrow.request(session, { jsonrpc: '2.0', id: 1, ...message }))
  ))
  t.match(answers[1], 'mine://')
  t.notMatch(answers.join(''), 'foreign')
  const errorOf = async (asked: string): Promise<unknown> => (await narrow.request(session, {
    jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: asked }
  }))[0]?.['error']
  const hidden = await errorOf('foreign://json') as { code: number, message: string }
  const absent = await errorOf('nothing://json') as { code: number, message: string }
  t.same(
    [hidden.code, hidden.message.replace('foreign', 'nothing')],
    [absent.code, absent.message],
    'one that it may not read is not there'
  )
})

t.test('what a revoked key has open ends, and nothing else does', async t => {
  const revoked = new RawHttp(server.url, keys.leaving.key)
  const session = await revoked.open()
  const other = await streamOf(wide, await wide.open())
  const execute = { name: 'execute', arguments: { skill_name: 'trial', tool_name: 'wait', parameters: {} } }
  const streams = {
    'the stream of a session': await streamOf(revoked, session),
    'a call in a session': new EventStream(await revoked.ask('/mcp', {
      headers: session,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: execute }
    })),
    'the stream of 2024-11-05': new EventStream(await revoked.ask('/sse', { method: 'GET' })),
    'a stream of changes of 2026': new EventStream(await revoked.modern('subscriptions/listen', listen(['own'])))
  }
  for (const [name, { status }] of Object.entries(streams)) t.equal(status, 200, name)
  const modern = revoked.modern('tools/call', execute).then(({ status }) => status, () => 0)
  const statuses = async (): Promise<string[]> => {
    const reply = await wide.ask('/api/executions?tool_name=wait', { method: 'GET' })
    return ((await reply.json()) as { executions: { status: string }[] }).executions.map(({ status }) => status)
  }
  await until(async () => (await statuses()).join() === 'running,running')
  // Other limits are no other rights.
  await configure({ ...keys, leaving: { ...keys.leaving, settings: 'rate_limit_per_minute = 1000' } })
  await until(async () =>
    (await revoked.ask('/mcp', { headers: session, body: { jsonrpc: '2.0', id: 2, method: 'ping' } }))
      .headers.get('ratelimit-policy')
      ?.includes('q=1000') === true)
  t.ok(Object.values(streams).every(stream => !stream.hasEnded))
  const { leaving, ...rest } = keys
  t.ok(leaving)
  await configure(rest)
  await Promise.all(Object.values(streams).map(stream => stream.ended))
  t.notMatch([200, 202], await modern, 'a call of 2026 has no answer')
  await until(async () => (await statuses()).join() === 'cancelled,cancelled')
  await put('own')
  await until(() => other.messages.some(({ method }) => method === 'notifications/resources/list_changed'))
  t.notOk(other.hasEnded)
})

t.test('who opens many sessions closes own ones, and no other\'s', async t => {
  const first = await wide.open()
  const greedy = new RawHttp(server.url, keys.greedy.key)
  const opened: Record<string, string>[] = []
  while (opened.length < 1_010) opened.push(...await Promise.all(Array.from({ length: 10 }, () => greedy.open())))
  const ping = async (http: RawHttp, session: Record<string, string> | undefined): Promise<number> =>
    (await http.ask('/mcp', { headers: session ?? {}, body: { jsonrpc: '2.0', id: 1, method: 'ping' } })).status
  t.equal(await ping(wide, first), 200)
  t.equal(await ping(greedy, opened[0]), 404, 'the oldest idle one made way')
  t.equal(await ping(greedy, opened.at(-1)), 200)
})

t.test('each call of a batch counts against the rate limit of its key', async t => {
  const key = 'sk_with_a_limit'
  await configure({ ...keys, limited: { key, settings: 'rate_limit_per_minute = 10' } })
  const limited = new RawHttp(server.url, key)
  await until(async () => (await limited.ask('/api/health', { method: 'GET' })).status === 200)
  const session = await limited.open('2025-03-26')
  const answers: Message[] = await limited.request(session, Array.from({ length: 20 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'execute', arguments: { skill_name: 'trial', tool_name: 'echo', parameters: { text: String(id) } } }
  })))
  t.same(
    answers.map(({ id }) => id).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: 20 }, (_, id) => id),
    'each has an answer'
  )
  const done = answers.filter(answer => 'result' in answer).map(({ id }) => Number(id)).sort((a, b) => a - b)
  t.same(done, Array.from({ length: done.length }, (_, id) => id), 'the first ones were done')
  t.ok(done.length > 0 && done.length <= 8, `${done.length} of them`)
  for (const { error } of answers.filter(answer => 'error' in answer)) {
    t.match(error, {
      code: -32_000,
      message: /^Too many calls: the limit is 10 per minute/,
      data: { code: 'RATE_LIMITED', limit: ['minute'], retry_after_s: Number }
    })
  }
  t.equal(
    (await limited.ask('/mcp', { headers: session, body: { jsonrpc: '2.0', id: 1, method: 'ping' } })).status,
    429,
    'and the next request'
  )
})
