import fc from 'fast-check'
import t from 'tap'
import { eachEngine, requestOf } from './support.ts'
import { Wire } from './wire.ts'

const json = { Host: 'localhost', 'Content-Type': 'application/json' }
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

eachEngine(t, 'names that every object inherits are not found', {}, async (t, { ask, post }) => {
  for (const name of inherited) {
    t.equal((await ask('GET', `/api/skills/${name}`)).error.code, 'SKILL_NOT_FOUND', name)
    t.equal((await ask('GET', `/api/executions/${name}`)).error.code, 'EXECUTION_NOT_FOUND', name)
    t.equal((await ask('GET', `/api/executions?${name}=1`)).error.code, 'INVALID_PARAMETERS', name)
    t.equal((await ask('GET', `/${name}`)).status, 404, name)
    t.equal(
      (await post('/api/execute', { skill_name: name, tool_name: 'echo', parameters: {} })).error.code,
      'SKILL_NOT_FOUND',
      name
    )
    t.equal(
      (await post('/api/execute', { skill_name: 'demo', tool_name: name, parameters: {} })).error.code,
      'TOOL_NOT_FOUND',
      name
    )
    const own = await post('/api/execute', `{"skill_name":"demo","tool_name":"echo","parameters":{"text":"x","${name}":{"polluted":true}}}`)
    t.match([own.status, own.error.code], [400, 'INVALID_PARAMETERS'], name)
  }
  const anything = await post('/api/execute', {
    skill_name: 'demo',
    tool_name: 'echo',
    parameters: { text: 'x', rest: { constructor: { prototype: { polluted: true } }, toString: 1 } }
  })
  t.equal(anything.status, 200, 'where any key may stand, they are keys like others')
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

/** Valid calls with one thing wrong, and what is no call at all. */
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  fc.json().map(text => Buffer.from(text)),
  fc.record({
    skill_name: fc.oneof(fc.constantFrom<unknown>('demo', ...inherited), fc.string({ unit: 'binary' }), fc.jsonValue()),
    tool_name:
      fc.oneof(fc.constantFrom<unknown>('echo', 'big', ...inherited), fc.string({ unit: 'binary' }), fc.jsonValue()),
    parameters: fc.oneof(
      fc.record(
        { text: fc.string({ unit: 'binary' }), times: fc.oneof(fc.double(), fc.integer()), rest: fc.jsonValue() },
        { requiredKeys: [] }
      ),
      fc.jsonValue()
    ),
    timeout_ms: fc.oneof(fc.double(), fc.integer(), fc.jsonValue())
  }, { requiredKeys: ['skill_name', 'tool_name', 'parameters'] }).map(value => Buffer.from(JSON.stringify(value))),
  fc.record({
    text: fc.string({ unit: 'grapheme', maxLength: 20 }),
    times: fc.integer({ min: 1, max: 9 }),
    rest: fc.dictionary(fc.string(), fc.jsonValue())
  })
    .map(parameters => Buffer.from(JSON.stringify({ skill_name: 'demo', tool_name: 'echo', parameters }))),
  fc.record({
    skill_name: fc.constantFrom('demo', ...inherited),
    tool_name: fc.constantFrom(...inherited),
    parameters: fc.constant({})
  }).map(value => Buffer.from(JSON.stringify(value))),
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => {
    const call = Buffer.from('{"skill_name":"demo","tool_name":"echo","parameters":{"text":"hello","times":2,"rest":{"a":[1.5e3,"\\ud83d\\ude00"]}},"timeout_ms":1000}')
    call[at % call.length] = byte
    return call
  })
)

/** A call, what is no call, and a call of what is not there: these are always among them. */
const examples: [Buffer][] = [
  [Buffer.from('{"skill_name":"demo","tool_name":"echo","parameters":{"text":"x"}}')],
  [Buffer.from('{"skill_name":')],
  [Buffer.from('{"skill_name":"demo","tool_name":"constructor","parameters":{}}')]
]

eachEngine(t, 'whatever bytes are posted, the answer is as described and never a fault', {}, async (t, server) => {
  let connection: Wire = await server.wire()
  const statuses = new Set<number>()
  await fc.assert(fc.asyncProperty(bodies, async body => {
    connection.write(requestOf('POST', '/api/execute', json, body))
    const answer = await connection.read()
    server.check('POST', '/api/execute', answer)
    statuses.add(answer.status)
    if (answer.headers.get('connection') === 'close') {
      connection.destroy()
      connection = await server.wire()
    }
    return answer.status < 500 || answer.error.code === 'TIMEOUT'
  }), { numRuns: 500, examples })
  connection.destroy()
  for (const status of [200, 400, 404]) t.ok(statuses.has(status), `${status} is among ${[...statuses.keys()].join()}`)
  t.equal((await server.ask('GET', '/api/health')).status, 200)
  t.notOk(server.logged.some(({ level }) => level === 'error'), 'no fault is logged')
})
