import t from 'tap'
import { completeConfig, configSchema, hashKey } from '../../../kernel/index.ts'
import { RequestGuard } from '../../../plugins/http/access/request-guard.ts'
import { Keys } from '../../../plugins/http/access/keys.ts'
import { serverSection } from '../../../plugins/http/settings.ts'
import { eachEngine } from './support.ts'
import type { Answer } from './wire.ts'

const limit = (answer: Answer): string => `${answer.status} ${answer.headers.get('ratelimit') ?? '-'}`
const key = { hash: hashKey('sk_one'), scopes: ['read', 'execute'], skills: [] }

eachEngine(t, 'every request is counted, probes are not', {
  server: { rate_limit_per_minute: 6, rate_limit_per_hour: 100 }
}, async (t, { ask, post, wire, port }) => {
  const first = await ask('GET', '/api/version')
  t.equal(first.headers.get('ratelimit-policy'), '"minute";q=6;w=60, "hour";q=100;w=3600')
  t.match(first.headers.get('ratelimit'), /^"minute";r=\d;t=\d\d?, "hour";r=9\d;t=3[56]\d\d$/)
  const left = (answer: Answer): number => Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])
  const begin = left(first)
  t.equal(left(await ask('GET', '/nothing')), begin - 1, 'what is not there')
  t.equal(left(await ask('GET', '/api/version', { headers: { Host: 'evil.example' } })), begin - 2, 'a foreign Host')
  t.equal(left(await post('/api/search', {}, { Origin: 'https://evil.example' })), begin - 3, 'a foreign origin')
  const last = await ask('GET', '/')
  t.equal(left(last), begin - 4, 'a page')
  for (let i = 0; i < 6; i++) await ask('GET', '/api/version')
  const over = await post('/api/execute', 'not JSON', { Origin: 'http://localhost:5173' })
  t.match([over.status, over.error.code], [429, 'RATE_LIMITED'])
  t.ok(Number(over.headers.get('retry-after')) > 1 && Number(over.headers.get('retry-after')) <= 60)
  t.match(over.headers.get('ratelimit'), /^"minute";r=0;t=\d+, "hour";r=94/, 'refused ones cost nothing of the hour')
  t.equal(over.headers.get('access-control-allow-origin'), 'http://localhost:5173', 'a page can read why')
  t.match(over.headers.get('access-control-expose-headers'), /Retry-After, RateLimit, RateLimit-Policy/)
  for (const path of ['/livez', '/readyz']) {
    const probe = await ask('GET', path)
    t.match([probe.status, probe.headers.get('ratelimit')], [200, undefined], path)
  }
  const connection = await wire()
  const large = await connection.write(`POST /api/execute HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n\r\n`).read()
  connection.destroy()
  t.equal(large.status, 429, 'before the body is read')
})

eachEngine(t, 'a key is counted apart from its address, by its own limits', {
  key: 'sk_wide',
  server: {
    auth_required: true,
    rate_limit_per_minute: 3,
    rate_limit_per_hour: 0,
    failed_auth_limit_per_minute: 0,
    keys: { one: key, wide: { ...key, hash: hashKey('sk_wide'), rate_limit_per_minute: 0 } }
  }
}, async (t, { ask }) => {
  const as = (key: string): Promise<Answer> => ask('GET', '/api/version', { headers: { 'X-API-Key': key } })
  for (let i = 0; i < 3; i++) await ask('GET', '/api/version')
  t.match(limit(await ask('GET', '/api/version')), /^429 "minute";r=0/, 'without a key, by address')
  t.match(limit(await as('sk_wrong')), /^429/, 'a wrong key is none')
  t.match(
    [limit(await as('sk_one')), limit(await as('sk_one')), limit(await as('sk_one')), limit(await as('sk_one'))],
    [/200 .*r=2/, /200 .*r=1/, /200 .*r=0/, /429 .*r=0/]
  )
  for (let i = 0; i < 9; i++) t.equal(limit(await as('sk_wide')), '200 -', 'its own limit: none')
})

eachEngine(t, 'wrong keys are limited apart, and lock no valid key out', {
  key: 'sk_one',
  server: {
    auth_required: true, rate_limit_per_minute: 50, rate_limit_per_hour: 0, failed_auth_limit_per_minute: 4,
    keys: { one: key }
  }
}, async (t, { ask }) => {
  const as = (key?: string): Promise<Answer> =>
    ask('GET', '/api/version', { headers: key === undefined ? {} : { Authorization: `Bearer ${key}` } })
  const statuses = []
  for (let i = 0; i < 7; i++) statuses.push((await as(`sk_guess${i}`)).status)
  t.same(statuses, [401, 401, 401, 401, 429, 429, 429])
  const refused = await as('sk_again')
  t.match(refused.error.message, /wrong API keys/)
  t.ok(Number(refused.headers.get('retry-after')) > 1)
  t.equal((await as('sk_one')).status, 200)
  t.equal((await as()).status, 401, 'without a key nobody guesses')
})

t.test('where the last key was revoked, a wrong key is still wrong, and counted', async t => {
  const keys = new Keys(undefined)
  keys.replace({ one: { ...key, scopes: ['read'] } })
  const config =
    completeConfig({ server: { auth_required: true, failed_auth_limit_per_minute: 2 } }, configSchema([serverSection]))
  const guard = new RequestGuard(serverSection.of(config), keys)
  const admit = (key: string): ReturnType<RequestGuard['admit']> =>
    guard.admit({ headers: ['x-api-key', key], remote_address: '192.0.2.1' })
  t.equal(admit('sk_one').unauthorized, undefined)
  keys.replace({})
  t.match([1, 2, 3].map(() => admit('sk_one')), [
    { unauthorized: /not valid/, refusal: undefined }, { unauthorized: /not valid/, refusal: undefined },
    { refusal: /wrong API keys/ }
  ])
})

eachEngine(t, 'behind a trusted proxy each client has its own limit', {
  server: { trusted_proxies: ['127.0.0.1'], rate_limit_per_minute: 2, rate_limit_per_hour: 0 }
}, async (t, { ask }) => {
  const as = async (address: string): Promise<number> =>
    (await ask('GET', '/api/version', { headers: { 'X-Forwarded-For': address } })).status
  t.same([await as('192.0.2.1'), await as('192.0.2.1'), await as('192.0.2.1'), await as('192.0.2.2')], [
    200, 200, 429, 200
  ])
  t.same(
    [await as('192.0.2.9, 192.0.2.2'), await as('192.0.2.8, 192.0.2.2')],
    [200, 429],
    'what the client wrote before it does not count'
  )
})

eachEngine(t, 'zero switches the limits off', {
  server: { rate_limit_per_minute: 0, rate_limit_per_hour: 0 }
}, async (t, { ask }) => {
  const answer = await ask('GET', '/api/version')
  t.match([answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')], [undefined, undefined])
})
