import t from 'tap'
import { until } from '../../../plugins/testing/until.ts'
import { eachEngine, requestOf, version } from './support.ts'

const run = (tool_name: string, parameters: object, more: object = {}): object =>
  ({ skill_name: 'demo', tool_name, parameters, ...more })

eachEngine(t, 'every operation answers', {}, async (t, { ask, post }) => {
  const skills = await ask('GET', '/api/skills')
  t.match(skills.json, { skills: [{ name: 'demo', tools: [{ name: 'echo' }, {}, {}, {}] }], total: 1 })
  t.equal(skills.headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(skills.headers.get('cache-control'), 'no-store')
  t.equal(skills.headers.get('x-content-type-options'), 'nosniff')
  t.same((await ask('GET', '/api/skills?offset=1&limit=1')).json['skills'], [])

  const skill = await ask('GET', '/api/skills/demo')
  t.match(
    skill.json,
    { tools: [{
      parameters: [{ examples: ['hello'] }, { default: 1, minimum: 1, title: 'Times' }, {}],
      input_schema: { properties: { times: { maximum: 9 } } }
    }] },
    'extra keywords survive'
  )
  t.equal((await ask('GET', '/api/skills/%64emo')).status, 200, 'path values are decoded')

  const text = 'quote " backslash \\ é \u{1F600} end'
  const done = await post('/api/execute', run('echo', { text, times: 2, rest: { deep: [1, { er: null }] } }))
  t.equal(done.status, 200)
  t.match(done.json, { status: 'success', output: text.repeat(2) })
  const id = String(done.json['execution_id'])
  const record = await ask('GET', `/api/executions/${id}`)
  t.match(record.json, {
    id,
    transport: 'http',
    isolation: 'none',
    error: null,
    started_at: /Z$/,
    parameters: { times: 2, rest: { deep: [1, { er: null }] } },
    transitions: [{ status: 'queued' }, {}, {}]
  })
  t.match(
    (await ask('GET', '/api/executions?limit=1&skill_name=demo&status=success&created_from=2020-01-01T00%3A00%3A00Z')).json,
    { executions: [{ id }], total: 1 }
  )
  t.match((await ask('GET', '/api/executions')).json, { total: 1 })
  t.match((await post('/api/search', { query: 'words' })).json, { mode: 'test', results: [{ score: 0.5 }] })
  t.match((await ask('GET', '/api/health')).json, { status: 'healthy', version: version.version, quarantined: [] })
  t.match((await ask('GET', '/api/version')).json, version)
  t.equal(
    (await ask('POST', `/api/executions/${id}/cancel`)).error.code,
    'CONFLICT',
    'an empty body will do where there are no fields'
  )
  t.equal((await post(`/api/executions/${id}/cancel`, {})).error.code, 'CONFLICT')
})

eachEngine(t, 'failures have their status, code and details', {}, async (t, { ask, post, logged }) => {
  const refused = async (
    answer: ReturnType<typeof ask>, status: number, code: string, message: RegExp | string, details: object = {}
  ): Promise<void> => {
    const { status: got, error } = await answer
    t.equal(got, status, code)
    t.match(error, { code, message, details })
  }
  await refused(post('/api/execute', run('fail', {})), 422, 'TOOL_EXECUTION_FAILED', 'it failed', {
    skill: 'demo', tool: 'fail', execution_id: /-/
  })
  await refused(post('/api/execute', run('wait', {}, { timeout_ms: 1 })), 504, 'TIMEOUT', /1 ms/, { timeout_ms: 1 })
  await refused(post('/api/execute', run('nothing', {})), 404, 'TOOL_NOT_FOUND', /nothing/)
  await refused(post('/api/execute', run('constructor', {})), 404, 'TOOL_NOT_FOUND', /constructor/)
  await refused(
    post('/api/execute', { ...run('echo', {}), skill_name: 'constructor' }), 404, 'SKILL_NOT_FOUND', /constructor/
  )
  await refused(ask('GET', '/api/skills/constructor'), 404, 'SKILL_NOT_FOUND', /constructor/)
  await refused(ask('GET', '/api/executions/constructor'), 404, 'EXECUTION_NOT_FOUND', /constructor/)
  await refused(post('/api/executions/nobody/cancel', {}), 404, 'EXECUTION_NOT_FOUND', /nobody/)
  await refused(
    post('/api/execute', run('echo', { text: 'x', times: 'two' })),
    400,
    'INVALID_PARAMETERS',
    'parameters/times must be integer'
  )
  await refused(
    post('/api/execute', run('echo', { text: 'x', tiems: 2 })),
    400,
    'INVALID_PARAMETERS',
    /unknown field "tiems".*times/
  )
  await refused(
    post('/api/execute', { skill_name: 'demo', tool_name: 'echo' }), 400, 'INVALID_PARAMETERS', /parameters/
  )
  await refused(
    post('/api/execute', run('echo', { text: 'x' }, { more: 1 })), 400, 'INVALID_PARAMETERS', /unknown field "more"/
  )
  await refused(post('/api/executions/x/cancel', { id: 'y' }), 400, 'INVALID_PARAMETERS', /"id"/)

  const broken = await post('/api/search', { query: 'break' })
  t.equal(broken.status, 500)
  t.match(broken.error, { code: 'INTERNAL', details: {} })
  t.notMatch(broken.text, /secret/, 'nothing of the inside goes out')
  t.match(
    logged.find(({ level }) => level === 'error')?.fields,
    { path: '/api/search', error: 'a secret of the inside', stack: /Error/ },
    'the log has the cause'
  )
})

eachEngine(t, 'queries and paths are read strictly', {}, async (t, { ask }) => {
  const message = async (path: string): Promise<string> => {
    const answer = await ask('GET', path)
    t.equal(answer.status, 400, path)
    t.equal(answer.error.code, 'INVALID_PARAMETERS')
    return answer.error.message
  }
  t.equal(await message('/api/executions?limit=-1'), 'limit must be >= 1')
  t.equal(await message('/api/executions?limit=abc'), 'limit must be integer')
  t.equal(await message('/api/executions?limit=501'), 'limit must be <= 500')
  t.equal(await message('/api/executions?limit='), 'limit must be integer')
  t.match(await message('/api/executions?limt=1'), /unknown name "limt".*limit/)
  t.match(await message('/api/executions?constructor=1'), /unknown name "constructor"/)
  t.match(await message('/api/executions?__proto__=1'), /unknown name "__proto__"/)
  t.match(await message('/api/executions?limit=1&limit=2'), /"limit" twice/)
  t.match(await message('/api/executions?status=%ZZ'), /"status" has bad percent-encoding/)
  t.match(await message('/api/executions?status=%E0%A4%A'), /"status" has bad percent-encoding/)
  t.match(await message('/api/executions?status=done'), /status must be one of/)
  t.match(await message('/api/executions?created_from=yesterday'), /created_from/)
  t.match(await message('/api/skills/%E0%A4%A'), /"name" has bad percent-encoding/)
  t.match(await message('/api/health?x=1'), /unknown name "x"/)
})

eachEngine(t, 'paths and methods', {}, async (t, { ask, post, wire, port }) => {
  for (const path of [
    '/api', '/api/', '/api/nothing', '/api/skills/', '/api/skills/demo/', '/api/health/', '/api//health', '/API/health',
    '/nothing', '/../api/health', '/constructor'
  ]) {
    const answer = await ask('GET', path)
    t.equal(answer.status, 404, path)
    t.match(answer.json, { error: { code: 'NOT_FOUND', details: {} }, success: false, api_version: version.version })
  }
  const wrong = await ask('DELETE', '/api/health')
  t.match([wrong.status, wrong.error.code, wrong.headers.get('allow')], [
    405, 'METHOD_NOT_ALLOWED', 'GET, HEAD, OPTIONS'
  ])
  t.equal((await ask('GET', '/api/execute')).headers.get('allow'), 'POST, OPTIONS')
  t.equal((await post('/api/health', {})).status, 405)

  // HEAD says what GET would and sends no body: the next reply on the connection begins right after it.
  const connection = await wire()
  const host = { Host: `localhost:${port}` }
  const head = await connection.write(requestOf('HEAD', '/api/version', host)).read(true)
  const get = await connection.write(requestOf('GET', '/api/version', host)).read()
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String(get.bytes.length))
  const missing = await connection.write(requestOf('HEAD', '/api/nothing', host)).read(true)
  t.equal(missing.status, 404)
  t.match((await connection.write(requestOf('GET', '/api/version', host)).read()).json, version)
  connection.destroy()
})

eachEngine(t, 'large replies reach slow clients whole', {}, async (t, { wire, port, post }) => {
  t.equal(String((await post('/api/execute', run('big', { size: 200_000 }))).json['output']).length, 200_000)
  const connection = await wire()
  connection.pause()
  const body = run('echo', { text: 'x'.repeat(900_000) })
  connection.write(
    requestOf('POST', '/api/execute', { Host: `localhost:${port}`, 'Content-Type': 'application/json' }, body)
  )
  // The reply is far more than the sockets' buffers take from a server that nobody reads.
  setTimeout(() => { connection.resume() }, 50)
  const answer = await connection.read()
  t.equal(String(answer.json['output']).length, 900_000)
  t.equal(
    (await connection.write(requestOf('GET', '/api/health', { Host: 'localhost' })).read()).status,
    200,
    'and the connection goes on'
  )
  connection.destroy()
})

eachEngine(t, 'a client that goes away cancels its execution', {}, async (t, { ask, wire, port }) => {
  const connection = await wire()
  connection.write(requestOf(
    'POST', '/api/execute', { Host: `localhost:${port}`, 'Content-Type': 'application/json' }, run('wait', {})
  ))
  const statuses = async (): Promise<unknown[]> =>
    ((await ask('GET', '/api/executions')).json['executions'] as { status: string }[]).map(({ status }) => status)
  await until(async () => (await statuses()).includes('running'))
  connection.destroy()
  await until(async () => (await statuses()).includes('cancelled'))
  t.same(await statuses(), ['cancelled'])
})

eachEngine(t, 'an execution is cancelled over another connection', {}, async (t, { ask, post, wire, port }) => {
  const connection = await wire()
  connection.write(requestOf(
    'POST', '/api/execute', { Host: `localhost:${port}`, 'Content-Type': 'application/json' }, run('wait', {})
  ))
  let id = ''
  await until(async () => {
    const [execution] = (await ask('GET', '/api/executions?status=running')).json['executions'] as { id: string }[]
    id = execution?.id ?? ''
    return id !== ''
  })
  t.match((await post(`/api/executions/${id}/cancel`, {})).json, { id, status: 'cancelled' })
  const answer = await connection.read()
  t.match([answer.status, answer.error.code], [409, 'CANCELLED'])
  connection.destroy()
})

eachEngine(t, 'whatever a tool puts out can be read', {
  tools: { half: () => 'half \ud800 of a pair' }
}, async (t, { post }) => {
  t.match((await post('/api/execute', run('half', {}))).json, { status: 'success', output: 'half \ud800 of a pair' })
})
