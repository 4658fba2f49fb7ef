import { within, type Endpoint, type EndpointRoute, type JsonObject, type Plugin } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { openKernel, type TestKernel } from './kernel.ts'
import { openPlugin, type Opened } from './open-plugin.ts'
import { until } from './until.ts'

/** What the suite needs to know of an endpoint. Requests are made anew each time; their host does not count. */
export interface EndpointHarness {
  plugin: Plugin<'endpoint'>
  config?: JsonObject
  /** A request that it answers with success. */
  good (): Request
  /** A request that waits for the tool `hang` of the skill `subject`. Absent where it runs no tools. */
  hang? (): Request
  /** A request whose reply is a stream that stays open and waits for nothing. Absent where it has none. */
  stream? (): Request
}

/** Longer than anything here takes; only a hang reaches it. */
const patience_ms = 30_000

interface Subject {
  kernel: TestKernel
  endpoint: Opened<Endpoint>
  fetch (request: Request, signal?: AbortSignal): Promise<Response>
}
type Test =
  (name: string, run: (t: TestContext, subject: Subject) => Promise<void>, options?: { skip?: string }) => Promise<void>

/** What every endpoint must do. */
export async function testEndpoint (t: TestContext, harness: EndpointHarness): Promise<void> {
  const test: Test = (name, run, options) => t.test(name, async t => {
    const kernel = await openKernel(harness.config, [harness.plugin])
    t.teardown(() => kernel.close())
    const endpoint = await openPlugin(harness.plugin, {
      ...(harness.config !== undefined && { config: harness.config }),
      gateway: kernel.gateway
    })
    t.teardown(() => endpoint.close())
    const requests: Request[] = [] // a Request follows its signal weakly: one that is collected would never abort
    await run(t, {
      kernel,
      endpoint,
      fetch (request, signal = new AbortController().signal) {
        const followed = new Request(request, { signal })
        requests.push(followed)
        return endpoint.service.fetch(
          followed,
          { transport: 'http', signal, caller: '127.0.0.1', charge: () => undefined }
        )
      }
    })
  }, options)
  await testRoutes(test)
  await testAnswers(test, harness)
  await testEnd(test, harness)
}

async function testRoutes (test: Test): Promise<void> {
  await test('its routes are well-formed, each once', async (t, { endpoint }) => {
    const { routes } = endpoint.service
    t.ok(routes.length > 0, 'it has one')
    for (const { method, path } of routes) {
      t.match(method, /^(GET|POST|DELETE)$/, path)
      t.match(path, /^\/[A-Za-z0-9._~/-]*$/, `${path} stands so in requests, without placeholders and queries`)
      t.notOk(path.startsWith('/api/'), `${path} is not among the operations`)
    }
    t.equal(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size, routes.length)
  })
}

/** What clients send that mean nothing well. */
const odd: readonly { type?: string, body: string | Uint8Array }[] = [
  { body: '' },
  { type: 'application/json', body: '' },
  { type: 'application/json', body: '{' },
  { type: 'application/json', body: '{}' },
  { type: 'application/json', body: 'null' },
  { type: 'application/json', body: '[[[[1]]]]' },
  { type: 'application/json', body: '['.repeat(100_000) },
  { type: 'application/json', body: '{"__proto__": {"a": 1}, "constructor": null, "id": {}, "method": 5}' },
  { type: 'application/json', body: Uint8Array.from([0xff, 0xfe, 0x00, 0x7b]) },
  { type: 'text/plain', body: 'hello' },
  { type: 'application/x-www-form-urlencoded', body: 'a=1&a=2' },
  { type: 'nonsense; =', body: 'x'.repeat(100_000) }
]

async function testAnswers (test: Test, { good }: EndpointHarness): Promise<void> {
  await test('what it is for, it does, and again', async (t, { fetch }) => {
    for (let i = 0; i < 2; i++) {
      const response = await fetch(good())
      t.ok(response.ok, `${response.status}`)
      await endOf(response)
    }
  })

  await test(
    'what it does not know it answers, and does not throw; the next request is unharmed',
    async (t, { endpoint, fetch }) => {
      for (const route of endpoint.service.routes) {
        for (const { type, body } of route.method === 'GET' ? [{ body: '' }] : odd) {
          const response = await fetch(requestOf(route, body, type))
          const shown = `${route.method} ${route.path} ${type ?? ''} ${String(body).slice(0, 20)}: ${response.status}`
          t.ok(
            response.status >= 200 && response.status < 500,
            `${shown}: what a client sends is no fault of the server`
          )
          await endOf(response)
        }
      }
      const response = await fetch(good())
      t.ok(response.ok, `${response.status}`)
      await endOf(response)
    }
  )
}

function requestOf ({ method, path }: EndpointRoute, body: string | Uint8Array, type?: string): Request {
  return new Request(`http://localhost${path}`, {
    method,
    ...(method !== 'GET' && body.length > 0 && { body: new Uint8Array(Buffer.from(body)) }),
    headers: type === undefined ? {} : { 'content-type': type }
  })
}

async function testEnd (test: Test, { good, hang, stream }: EndpointHarness): Promise<void> {
  await test('a request whose client goes away ends, and cancels what it waits for', async (t, { kernel, fetch }) => {
    if (hang === undefined) return
    const gone = new AbortController()
    const settled = fetch(hang(), gone.signal).then(endOf).catch(() => {}) // nobody reads what it says
    await until(() => kernel.hanging() === 1)
    gone.abort(new Error('the client went away'))
    t.ok(await within(patience_ms, settled), 'it ends')
    await until(async () => (await kernel.executions()).some(({ status }) => status === 'cancelled'))
    const response = await fetch(good())
    t.ok(response.ok, 'the next request is unharmed')
    await endOf(response)
  }, hang === undefined ? { skip: 'the harness has no request that waits for a tool' } : {})

  for (const [how, end] of [
    ['its client goes away', (_: Subject, gone: AbortController) => { gone.abort(new Error('the client went away')) }],
    ['the endpoint quiesces', ({ endpoint }: Subject) => { endpoint.service.quiesce?.() }],
    ['the scope closes', ({ endpoint }: Subject) => endpoint.close()]
  ] as const) {
    await test(`a stream that waits for nothing ends when ${how}`, async (t, subject) => {
      if (stream === undefined) return
      const gone = new AbortController()
      const response = await subject.fetch(stream(), gone.signal)
      t.ok(response.ok && response.body !== null, `${response.status}`)
      const read = endOf(response, false).catch(() => {}) // it may end by failing
      t.notOk(await within(100, read), 'it stays open')
      await end(subject, gone)
      t.ok(await within(patience_ms, read), 'it ends')
    }, stream === undefined ? { skip: 'the harness has no stream' } : {})
  }

  await test('when it quiesces, what was accepted is answered', async (t, { kernel, endpoint, fetch }) => {
    if (hang === undefined) return
    const accepted = fetch(hang()).then(async response => ({ ok: response.ok, text: await response.text() }))
    await until(() => kernel.hanging() === 1)
    endpoint.service.quiesce?.()
    kernel.letGo()
    t.match(await accepted, { ok: true, text: /let go/ })
  }, hang === undefined ? { skip: 'the harness has no request that waits for a tool' } : {})
}

/** Reads a reply to its end; of a stream that stays open, only where it is wanted. */
async function endOf (response: Response, leaveStreams = true): Promise<void> {
  if (leaveStreams && response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    await response.body?.cancel()
  } else {
    await response.arrayBuffer()
  }
}
