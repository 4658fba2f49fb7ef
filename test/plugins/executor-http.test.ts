import { appendFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  compileCheck,
  type JsonObject,
  type Outcome,
  type TaskObserver,
  type ToolDefinition
} from '../../kernel/index.ts'
import plugin from '../../plugins/executor-http/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'
import { testExecutor, type Call, type ExecutorHarness } from '../conformance/executor.ts'
import { bodyOf, documentOf, parameter, receive, skillOf, startRecorder, toolsIn } from '../support/web-api.ts'
import { startWebServer } from '../support/web-server.ts'

const observer: TaskObserver = { started() {}, progress() {}, log() {} }
const { service: executor, close } = await openPlugin(plugin)
t.teardown(close)

interface Given {
  secrets?: Record<string, string>
  read?: string[]
  config?: JsonObject
  timeout_ms?: number
  signal?: AbortSignal
}

async function run (
  tool: ToolDefinition | undefined,
  parameters: JsonObject = {},
  given: Given = {}
): Promise<Outcome> {
  if (tool === undefined) throw new Error('there is no such tool')
  const { secrets = {}, read, config = {}, timeout_ms = 60_000, signal = new AbortController().signal } = given
  const fault = compileCheck(tool.input_schema, 'parameters')(parameters)
  if (fault !== undefined) throw new Error(fault)
  executor.check?.(tool, parameters)
  const skill = skillOf({ [tool.name]: tool }, Object.keys(secrets), read)
  return await executor.run(
    { execution_id: 'x', skill, tool, parameters, timeout_ms, config, secrets },
    observer,
    signal
  )
}

/** The tool of a document with one operation. */
function toolOf (
  server: string,
  path: string,
  method: string,
  operation: JsonObject,
  http: JsonObject = {}
): ToolDefinition {
  const [tool] = Object.values(
    toolsIn(documentOf({ [path]: { [method]: operation } }), { server, private: true, ...http })
  )
  if (tool === undefined) throw new Error('the document has no tool')
  return tool
}

const subject = await startWebServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
  const text = searchParams.get('text') ?? ''
  response.setHeader('content-type', 'text/plain')
  switch (pathname) {
    // The mark is no part of the text, so that the text is exact whatever it is.
    case '/echo':
      return response.end(`\ufeff${text}`)
    case '/fail':
      return response.writeHead(500).end(text)
    case '/sleep':
      return setTimeout(() => response.end('slept'), Number(text))
    case '/append':
      appendFileSync(searchParams.get('file') ?? '', text)
      return response.end()
    default:
      return undefined
  }
})
t.teardown(() => {
  subject.close()
})
const tools = toolsIn(
  documentOf(
    Object.fromEntries(
      ['echo', 'fail', 'sleep', 'hang', 'append'].map(name => [
        `/${name}`,
        { get: { operationId: name, parameters: ['text', 'file'].map(field => parameter(field, 'query')) } }
      ])
    )
  ),
  { server: subject.url, private: true }
)
const call = (name: string, parameters: JsonObject = {}): Call => {
  const tool = tools[name]
  if (tool === undefined) throw new Error(`there is no ${name}`)
  return { skill: skillOf(tools), tool, parameters }
}
const harness: ExecutorHarness = {
  open: async config => {
    const opened = await openPlugin(plugin, { config })
    return { executor: opened.service, close: opened.close }
  },
  isolation: 'none',
  calls: {
    echo: text => call('echo', { text }),
    fail: text => call('fail', { text }),
    sleep: ms => call('sleep', { text: String(ms) }),
    hang: () => call('hang'),
    output: () => undefined,
    append: (file, text) => call('append', { file, text })
  },
  concurrency: { config: { plugin: { 'executor-http': { requests: 4 } } }, limit: 4, hang: call('hang') }
}
testExecutor('executor-http', harness)

const recorder = await startRecorder()
t.teardown(() => {
  recorder.close()
})
const last = (): (typeof recorder.arrived)[number] => recorder.arrived.at(-1) as (typeof recorder.arrived)[number]
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter(value => value.isWellFormed())
const word = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9]{0,6}$/)

t.test('whatever the values are, they arrive as they were given, and nowhere else', async t => {
  const tool = toolOf(`${recorder.url}/base`, '/items/{id}/x/{list}', 'get', {
    parameters: [
      parameter('id', 'path', { type: 'string' }),
      parameter('list', 'path', { type: 'array', items: { type: 'string' } }),
      parameter('q', 'query', { type: 'string' }),
      parameter('many', 'query', { type: 'array', items: { type: 'string' } }),
      parameter('joined', 'query', { type: 'array', items: { type: 'string' } }, { explode: false }),
      parameter('deep', 'query', { type: 'object' }, { style: 'deepObject' }),
      parameter(
        'json',
        'query',
        {},
        { content: { 'application/json': { schema: { type: 'object' } } }, schema: undefined }
      ),
      parameter('c', 'cookie', { type: 'string' })
    ]
  })
  const values = fc.record(
    {
      id: text.filter(value => !/^\.{1,2}$/.test(value)),
      list: fc.array(
        text.filter(value => !/^\.{1,2}$/.test(value)),
        { minLength: 1, maxLength: 3 }
      ),
      q: text,
      many: fc.array(text, { maxLength: 3 }),
      joined: fc.array(text, { minLength: 1, maxLength: 3 }),
      deep: fc.dictionary(word, text, { maxKeys: 3 }),
      json: fc.dictionary(word, text, { maxKeys: 3 }),
      c: text
    },
    { requiredKeys: ['id', 'list'] }
  )
  await fc.assert(
    fc.asyncProperty(values, async given => {
      t.match(await run(tool, structuredClone(given) as JsonObject), { status: 'success' })
      const { path, query, headers } = last()
      const parts = path.split('/')
      t.same([parts.length, parts[1], parts[2], parts[4]], [6, 'base', 'items', 'x'])
      t.equal(decodeURIComponent(parts[3] ?? ''), given.id)
      t.same((parts[5] ?? '').split(',').map(decodeURIComponent), given.list)
      t.equal(query.get('q'), given.q ?? null)
      t.same(query.getAll('many'), given.many ?? [])
      const raw = /[?&]joined=([^&]*)/.exec(recorder.asked.at(-1) ?? '')?.[1]
      t.same(raw?.split(',').map(decodeURIComponent), given.joined)
      const deep = [...query].flatMap(([key, value]) =>
        /^deep\[(.*)\]$/.exec(key)?.[1] === undefined ? [] : [[key.slice(5, -1), value]]
      )
      t.same(Object.fromEntries(deep), given.deep ?? {})
      t.same(JSON.parse(query.get('json') ?? '{}'), given.json ?? {})
      t.equal(headers['cookie'], given.c === undefined ? undefined : `c=${encodeURIComponent(given.c)}`)
    }),
    { numRuns: 60 }
  )
})

t.test('what would lead elsewhere, or begin another header, is refused before anything is sent', async t => {
  const before = recorder.arrived.length
  const tool = toolOf(`${recorder.url}/base`, '/a/{id}', 'get', {
    parameters: [parameter('id', 'path'), parameter('x-h', 'header')]
  })
  for (const id of ['.', '..'])
    await t.rejects(run(tool, { id }), { code: 'INVALID_PARAMETERS', message: /lead elsewhere/ })
  await t.rejects(run(tool, { id: '' }), { code: 'INVALID_PARAMETERS', message: /is empty/ })
  for (const value of ['a\r\nauthorization: x', 'a\nb', 'é']) {
    await t.rejects(run(tool, { id: 'a', 'x-h': value }), {
      code: 'INVALID_PARAMETERS',
      message: /characters that a header/
    })
  }
  const host = toolOf(recorder.url, '/', 'get', { parameters: [parameter('Host', 'header')] })
  await t.rejects(run(host, { Host: 'evil.example' }), { message: /"Host" can't be set/ })
  t.equal(recorder.arrived.length, before)
  await run(tool, { id: '../../x/%2e%2e/y?z#w' })
  t.equal(last().path, '/base/a/..%2F..%2Fx%2F%252e%252e%2Fy%3Fz%23w', 'one part of the path')
})

t.test('bodies: fields, lists, forms and files', async t => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' }, id: { type: 'integer' }, tags: { type: 'array', items: { type: 'string' } } },
    required: ['a']
  }
  const path = { parameters: [parameter('id', 'path', { type: 'integer' })] }
  await run(toolOf(recorder.url, '/x/{id}', 'put', { ...path, ...bodyOf('application/json', schema) }), {
    id: 1,
    a: 'é',
    id_body: 2
  })
  t.same([last().path, JSON.parse(last().body.toString())], ['/x/1', { a: 'é', id: 2 }])
  await run(toolOf(recorder.url, '/x', 'post', bodyOf('application/json', { type: 'array', items: {} })), {
    body: [1, 'a']
  })
  t.same(JSON.parse(last().body.toString()), [1, 'a'])
  await run(toolOf(recorder.url, '/x', 'post', bodyOf('application/x-www-form-urlencoded', schema)), {
    a: '=&+ é',
    tags: ['1', '2']
  })
  t.same(
    [...new URLSearchParams(last().body.toString())],
    [
      ['a', '=&+ é'],
      ['tags', '1'],
      ['tags', '2']
    ]
  )

  const file = { type: 'string', format: 'binary' }
  const upload = toolOf(
    recorder.url,
    '/x',
    'post',
    bodyOf('multipart/form-data', {
      type: 'object',
      properties: { a: { type: 'string' }, meta: { type: 'object' }, file, files: { type: 'array', items: file } }
    })
  )
  const base64 = (content: string): string => Buffer.from(content).toString('base64')
  await run(upload, {
    a: 'x\r\n--y',
    meta: { b: 1 },
    file: { base64: base64('one'), name: 'a"\r\nb.txt', type: 'text/plain' },
    files: [{ base64: base64('two') }, { base64: base64('three') }]
  })
  const form = await new Response(last().body, {
    headers: { 'content-type': last().headers['content-type'] ?? '' }
  }).formData()
  const sent = form.get('file') as File
  t.same([form.get('a'), await sent.text(), sent.type], ['x\r\n--y', 'one', 'text/plain'])
  t.equal(form.get('meta'), '{"b":1}')
  t.same(await Promise.all(form.getAll('files').map(file => (file as File).text())), ['two', 'three'])
})

t.test('files are sent by their path only where permissions.read covers them', async t => {
  const folder = t.testdir({ open: { 'a.txt': 'content' }, secret: 'secret' })
  const upload = toolOf(recorder.url, '/x', 'post', bodyOf('application/octet-stream', {}))
  const send = async (path: string, given: Given): Promise<Outcome> => await run(upload, { body: { path } }, given)
  const read = [join(folder, 'open')]
  await symlink(join(folder, 'secret'), join(folder, 'open', 'link'))
  await mkdir(join(folder, 'open', 'own'))
  await writeFile(join(folder, 'open', 'own', 'keys'), 'k')
  t.match(await send(join(folder, 'open', 'a.txt'), { read }), { status: 'success' })
  t.equal(last().body.toString(), 'content')
  const before = recorder.arrived.length
  const config = { private_paths: [join(folder, 'open', 'own')] }
  for (const [path, given, why] of [
    [join(folder, 'open', 'a.txt'), {}, /names no folder/],
    [join(folder, 'open', 'link'), { read }, /does not cover it/],
    [join(folder, 'open', '..', 'secret'), { read }, /does not cover it/],
    ['a.txt', { read }, /absolute/],
    [join(folder, 'open', 'own', 'keys'), { read, config }, /Skillet's own/]
  ] as const)
    t.match(await send(path, { ...given, ...('read' in given && { read: [...given.read] }) }), {
      status: 'failed',
      error: { message: why }
    })
  t.equal(recorder.arrived.length, before)
})

t.test(
  'private addresses are refused unless they were confirmed, and a redirect leads to no other server',
  async t => {
    const other = await startRecorder()
    t.teardown(() => {
      other.close()
    })
    const target = { url: other.url }
    const server = await startWebServer((request, response) => {
      if (request.url === '/to') return response.writeHead(307, { location: `${target.url}/stolen` }).end()
      if (request.url === '/same') return response.writeHead(302, { location: '/end' }).end()
      if (request.url === '/round') return response.writeHead(302, { location: '/round' }).end()
      return response.end(`${request.method} ${request.headers['authorization']}`)
    })
    t.teardown(() => {
      server.close()
    })
    const auth = [{ scheme: 'b', kind: 'bearer', secrets: ['T'] }]
    const given = { secrets: { T: 'secret-token' } }
    const get = (path: string, http: JsonObject = {}, method = 'get'): ToolDefinition =>
      toolOf(server.url, path, method, {}, { auth, ...http })
    const refused = await run(get('/end', { private: false }), {}, given)
    t.match(refused, { status: 'failed', error: { message: /is an address of this machine/ } })
    t.same(server.asked, [])
    t.match(await run(get('/same'), {}, given), { status: 'success', output: 'GET Bearer secret-token' })
    t.match(await run(get('/same', {}, 'post'), {}, given), { status: 'success', output: 'GET Bearer secret-token' })
    for (const url of [other.url, 'http://169.254.169.254', server.url.replace('127.0.0.1', 'localhost')]) {
      target.url = url
      t.match(await run(get('/to'), {}, given), {
        status: 'failed',
        error: { message: /not the server that was confirmed/ }
      })
    }
    t.same(other.arrived, [], 'nothing was sent there, and no token')
    t.match(await run(get('/round'), {}, given), {
      status: 'failed',
      error: { message: /redirects more than 5 times/ }
    })
  }
)

t.test('credentials: in header, query and cookie, as basic, and as a token that is asked for once', async t => {
  const asked: string[] = []
  let valid = 'token-1'
  const server = await startWebServer((request, response) => {
    void receive(request).then(body => {
      response.setHeader('content-type', 'application/json')
      if (request.url === '/token') {
        asked.push(`${request.headers['authorization']} ${body.toString()}`)
        return response.end(JSON.stringify({ access_token: valid, token_type: 'bearer', expires_in: 3600 }))
      }
      const { authorization = '', 'x-key': key, cookie } = request.headers
      if (authorization.startsWith('Bearer') && authorization !== `Bearer ${valid}`)
        return response.writeHead(401).end()
      return response.end(JSON.stringify({ url: request.url, authorization, key, cookie }))
    })
  })
  t.teardown(() => {
    server.close()
  })
  const secrets = { A: 'one', B: 'two:é' }
  const answer = async (...auth: JsonObject[]): Promise<unknown> => {
    const outcome = await run(
      toolOf(server.url, '/x', 'get', {}, { auth: auth.map(one => ({ scheme: 's', secrets: ['A'], ...one })) }),
      {},
      { secrets }
    )
    return outcome.status === 'success' ? (JSON.parse(outcome.output) as unknown) : outcome
  }
  t.match(await answer({ kind: 'header', name: 'X-Key' }), { key: 'one' })
  t.match(await answer({ kind: 'query', name: 'k' }, { kind: 'cookie', name: 'c' }), {
    url: '/x?k=one',
    cookie: 'c=one'
  })
  t.match(await answer({ kind: 'basic', secrets: ['A', 'B'] }), {
    authorization: `Basic ${Buffer.from('one:two:é').toString('base64')}`
  })
  const oauth = { kind: 'oauth2', secrets: ['A', 'B'], token_url: '/token', scopes: ['r', 'w'] }
  t.match(await answer(oauth), { authorization: 'Bearer token-1' })
  t.match(await answer(oauth), { authorization: 'Bearer token-1' })
  t.same(asked, [
    `Basic ${Buffer.from('one:two%3A%C3%A9').toString('base64')} grant_type=client_credentials&scope=r+w`
  ])
  valid = 'token-2'
  t.match(await answer(oauth), { authorization: 'Bearer token-2' }, 'one that the server no longer takes is replaced')
  t.match(await answer({ ...oauth, token_url: 'http://127.0.0.1:9/token' }), {
    status: 'failed',
    error: { message: /by https only/ }
  })
  t.match(await answer({ kind: 'bearer', secrets: ['MISSING'] }), {
    status: 'failed',
    error: { message: /secret MISSING/ }
  })
})

t.test('answers: laid out where they are small, bounded, and said in words where they are failures', async t => {
  const server = await startWebServer((request, response) => {
    const problem = { title: 'No', detail: 'because', status: 422 }
    switch (request.url) {
      case '/small':
        return response.setHeader('content-type', 'application/json').end('{"a":1}')
      case '/problem':
        return response.writeHead(422, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
      case '/bytes':
        return response.setHeader('content-type', 'image/png').end(Buffer.from([0, 1, 2]))
      case '/big':
        return response.setHeader('content-type', 'image/png').end(Buffer.alloc(100_000))
      case '/empty':
        return response.writeHead(204).end()
      case '/endless': {
        const more = (): void => {
          while (response.write('x'.repeat(65_536)));
        }
        response.on('drain', more)
        more()
        return undefined
      }
      default:
        return response.write('begins')
    }
  })
  t.teardown(() => {
    server.close()
  })
  const get = async (path: string, given: Given = {}): Promise<Outcome> =>
    await run(toolOf(server.url, path, 'get', {}), {}, given)
  t.match(await get('/small'), { status: 'success', output: '{\n  "a": 1\n}' })
  t.match(await get('/problem'), {
    status: 'failed',
    error: { message: 'HTTP 422 Unprocessable Entity: No: because', details: { status: 422 } }
  })
  t.match(await get('/bytes'), { output: /"type": "image\/png".*"base64": "AAEC"/s })
  t.match(await get('/big'), { output: /"bytes": 100000.*given in base64 up to/s })
  t.match(await get('/empty'), { status: 'success', output: 'HTTP 204 No Content' })
  const endless = await get('/endless')
  t.match([endless.status, endless.output.slice(-100)], ['success', /its end was not read\]$/])
  t.match(await get('/never', { timeout_ms: 300 }), { status: 'timeout' })
  const abort = new AbortController()
  const outcome = get('/never', { signal: abort.signal })
  await until(() => server.asked.filter(line => line === 'GET /never').length === 2)
  abort.abort()
  t.match(await outcome, { status: 'cancelled' })
})

t.test('a request is repeated only where the server asks for it, and only where that changes nothing', async t => {
  let refusals = 0
  let header: Record<string, string> = { 'retry-after': '0' }
  const server = await startWebServer((_request, response) => {
    if (refusals-- > 0) response.writeHead(503, header).end()
    else response.end('done')
  })
  t.teardown(() => {
    server.close()
  })
  const count = async (method: string, times: number): Promise<[string, number]> => {
    refusals = times
    const before = server.asked.length
    const { status } = await run(toolOf(server.url, '/x', method, {}), {}, { timeout_ms: 20_000 })
    return [status, server.asked.length - before]
  }
  t.same(await count('get', 2), ['success', 3])
  t.same(await count('delete', 1), ['success', 2])
  t.same(await count('get', 99), ['failed', 4])
  t.same(await count('post', 1), ['failed', 1])
  header = { 'retry-after': '3600' }
  t.same(await count('get', 1), ['failed', 1], 'not past the time limit')
  header = {}
  t.same(await count('get', 1), ['failed', 1])
})

t.test('pages: by Link, by a token, by a number; up to what was asked for', async t => {
  const server = await startWebServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const page = Number(searchParams.get('page') ?? searchParams.get('cursor') ?? 1)
    response.setHeader('content-type', 'application/json')
    if (pathname === '/link' && page < 4)
      response.setHeader(
        'link',
        `<${pathname}?page=${page - 1}>; rel="prev", <${pathname}?page=${page + 1}>; rel="next"`
      )
    if (pathname === '/away') response.setHeader('link', '<http://other.example/x>; rel=next')
    if (pathname === '/token')
      return response.end(JSON.stringify({ items: [page], meta: { next_cursor: page < 3 ? String(page + 1) : '' } }))
    return response.end(JSON.stringify(pathname === '/number' && page > 2 ? [] : [page]))
  })
  t.teardown(() => {
    server.close()
  })
  const responses = { 200: { description: '', headers: { Link: {} } } }
  const get = async (path: string, operation: JsonObject, pages_max?: number): Promise<unknown> => {
    const outcome = await run(toolOf(server.url, path, 'get', operation), pages_max === undefined ? {} : { pages_max })
    return outcome.status === 'success' ? (JSON.parse(outcome.output) as unknown) : outcome
  }
  t.same(await get('/link', { responses }), [1])
  t.same(await get('/link', { responses }, 3), [1, 2, 3])
  t.same(await get('/link', { responses }, 50), [1, 2, 3, 4])
  t.same(await get('/away', { responses }, 50), [1])
  t.same(await get('/number', { parameters: [parameter('page', 'query')] }, 50), [1, 2])
  const token = [1, 2, 3].map(page => ({ items: [page], meta: { next_cursor: page < 3 ? String(page + 1) : '' } }))
  t.same(await get('/token', { parameters: [parameter('cursor', 'query')] }, 50), token)
})
