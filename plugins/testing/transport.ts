import { once } from 'node:events'
import { connect } from 'node:net'
import { within, type JsonObject, type Plugin, type Transport } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import { openKernel, type TestKernel } from './kernel.ts'
import { openPlugin, type Opened } from './open-plugin.ts'
import { until } from './until.ts'

/** What a client hears of a call. */
export type Answer = { output: JsonObject } | { error: { code: string, message: string } }

/** A client of a transport, as its users are. */
export interface Client {
  /** Calls an operation by its name, such as `execute` or `list_skills`. Rejects where no answer comes. */
  call (operation: string, input: JsonObject): Promise<Answer>
  /** Hangs up, whatever is still to be answered. */
  close (): Promise<void> | void
}

/** What the suite needs to know of a transport. */
export interface TransportHarness {
  plugin: Plugin<'transport'>
  /** A configuration in which it listens at a free port. */
  config?: JsonObject
  /** The transport's name in the record of what it ran; by default the plugin's. */
  name?: string
  /** Reaches the transport. Rejects where it takes nobody any more, or lets the client's calls reject. */
  connect (transport: Transport): Promise<Client> | Client
}

/** Longer than anything here takes; only a hang reaches it. */
const patience_ms = 30_000

interface Subject { kernel: TestKernel, transport: Opened<Transport>, client (): Promise<Client> }

/** What every transport must do. */
export async function testTransport (t: TestContext, harness: TransportHarness): Promise<void> {
  const test = (name: string, run: (t: TestContext, subject: Subject) => Promise<void>): Promise<void> =>
    t.test(name, async t => {
      const kernel = await openKernel(harness.config, [harness.plugin])
      t.teardown(() => kernel.close())
      const transport = await openPlugin(harness.plugin, {
        ...(harness.config !== undefined && { config: harness.config }),
        gateway: kernel.gateway
      })
      t.teardown(() => transport.close())
      await run(t, {
        kernel,
        transport,
        async client () {
          const client = await harness.connect(transport.service)
          t.teardown(() => client.close())
          return client
        }
      })
    })
  await testCalls(test, harness)
  await testHangingUp(test)
  await testEnd(test)
}

type Test = (name: string, run: (t: TestContext, subject: Subject) => Promise<void>) => Promise<void>

const execute = (tool_name: string, parameters: JsonObject = {}): [operation: string, input: JsonObject] =>
  ['execute', { skill_name: 'subject', tool_name, parameters }]

async function testCalls (test: Test, harness: TransportHarness): Promise<void> {
  await test('it calls operations through the gateway, and says how they came in', async (t, { kernel, client }) => {
    const { call } = await client()
    for (const text of ['hello', '', '\ufeffünïcødé 漢字 🙂 \u2028', ' \t\n "{}" \u0000 ']) {
      t.match(await call(...execute('echo', { text })), { output: { status: 'success' } })
      const [record] = await kernel.executions()
      t.equal(record?.output, text)
      t.equal(record?.transport, harness.name ?? harness.plugin.name)
    }
    const listed = await call('list_skills', {})
    t.equal(
      'output' in listed && Array.isArray(listed.output['skills']) && listed.output['skills'].length,
      1,
      'operations that read are called too'
    )
  })

  await test('an error arrives with its code and its message, and the next call is unharmed', async (t, { client }) => {
    const { call } = await client()
    for (const [code, message, ...request] of [
      ['SKILL_NOT_FOUND', /nobody/, 'execute', { skill_name: 'nobody', tool_name: 'echo', parameters: {} }],
      ['TOOL_NOT_FOUND', /nothing/, ...execute('nothing')],
      ['INVALID_PARAMETERS', /text/, ...execute('echo', {})],
      ['TOOL_EXECUTION_FAILED', /broken beyond repair/, ...execute('fail', { message: 'broken beyond repair' })]
    ] as const) {
      t.match(await call(request[0], request[1]), { error: { code, message } }, code)
      t.match(await call(...execute('echo', { text: 'well' })), { output: { output: 'well' } })
    }
  })

  await test('many clients call at once, and each gets its own answer', async (t, { client }) => {
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      const { call } = await client()
      for (const text of [`${i} a`, `${i} b`]) {
        t.match(await call(...execute('echo', { text })), { output: { output: text } })
      }
    }))
  })

  await test('a call that lasts does not keep others waiting', async (t, { kernel, client }) => {
    const [slow, quick] = [await client(), await client()]
    const lasting = slow.call(...execute('hang'))
    await until(() => kernel.hanging() === 1)
    t.match(await quick.call(...execute('echo', { text: 'meanwhile' })), { output: { output: 'meanwhile' } })
    kernel.letGo()
    t.match(await lasting, { output: { output: 'let go' } })
  })
}

async function testHangingUp (test: Test): Promise<void> {
  await test('a client that hangs up cancels what it waits for, and nothing else', async (t, { kernel, client }) => {
    const stays = await client()
    const kept = stays.call(...execute('hang'))
    await until(() => kernel.hanging() === 1)
    const leaves = await client()
    const lost = leaves.call(...execute('hang')).catch(() => undefined)
    await until(() => kernel.hanging() === 2)
    await leaves.close()
    await lost
    await until(async () => (await kernel.executions()).some(({ status }) => status === 'cancelled'))
    t.equal(kernel.hanging(), 1)
    kernel.letGo()
    t.match(await kept, { output: { output: 'let go' } })
  })
}

async function testEnd (test: Test): Promise<void> {
  await test(
    'when it quiesces, what was accepted is answered, and nothing new is taken',
    async (t, { kernel, transport, client }) => {
      const { call } = await client()
      const accepted = call(...execute('hang'))
      await until(() => kernel.hanging() === 1)
      t.ok(
        await within(patience_ms, Promise.resolve(transport.service.quiesce?.())),
        'it waits for no call: executions drain after it'
      )
      const refused = await client()
        .then(({ call }) => call(...execute('echo', { text: 'late' })))
        .then(answer => 'error' in answer, () => true)
      t.ok(refused, 'a new client is refused')
      t.notOk(
        (await kernel.executions()).some(({ parameters }) => parameters['text'] === 'late'),
        'and its call never ran'
      )
      kernel.letGo()
      t.match(await accepted, { output: { output: 'let go' } })
    }
  )

  await test(
    'when its scope closes, clients are let go and the port is free',
    async (t, { kernel, transport, client }) => {
      const { call } = await client()
      t.match(await call(...execute('echo', { text: 'here' })), { output: { output: 'here' } })
      await client() // which says nothing, and stays
      const { url } = transport.service
      await transport.service.quiesce?.()
      t.ok(await within(patience_ms, transport.close()), 'idle clients keep nothing open')
      const place = placeOf(url)
      if (place !== undefined) t.equal(await listens(place), false, `nobody listens at ${url}`)
      t.equal(kernel.hanging(), 0)
    }
  )
}

interface Place { host: string, port: number }

function placeOf (url: string | undefined): Place | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined
  const { hostname, port } = new URL(url)
  return port === '' ? undefined : { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}

async function listens (place: Place): Promise<boolean> {
  const socket = connect(place)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
