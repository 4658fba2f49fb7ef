import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Test } from 'tap'
import {
  completeConfig, compileInputSchema, configSchema, createKernel, definePlugin, sectionsOf, type AnyPlugin,
  type JsonObject, type Kernel, type Logger, type ParameterDescriptor, type Plugin, type SkillDefinition,
  type SearchOptions
} from '../../../kernel/index.ts'
import { inlineExecutor, type InlineTool } from '../../../plugins/executor-inline/index.ts'
import http, { type HttpTransport } from '../../../plugins/http/index.ts'
import { serverSection } from '../../../plugins/http/settings.ts'
import storage from '../../../plugins/storage-memory/index.ts'
import { skillSource } from '../../support/kernel.ts'
import { skillOf } from '../../../plugins/testing/skill.ts'
import { glibcOf, hasUws } from '../../support/uws.ts'
import { Wire, type Answer } from './wire.ts'

export const version = { version: '1.2.3', commit: 'abcdef0', build_date: '2026-01-02' }

/** Where uWebSockets.js has a binary, both engines run every test; elsewhere node:http alone does. */
export const uwsExpected = hasUws(process.versions.node, glibcOf(process.report.getReport()))
export const engines = uwsExpected ? ['uws', 'node'] as const : ['node'] as const

export interface ServerOptions {
  engine: 'auto' | 'uws' | 'node'
  /** Fields of the section [server]. */
  server?: JsonObject
  /** Other sections. */
  config?: JsonObject
  tools?: Record<string, InlineTool>
  plugins?: AnyPlugin[]
  /** The key to read the description with; that of SERVICE_API_KEY where absent. */
  key?: string
}

/** A running server over a real kernel, and what to talk to it with. */
export interface TestServer {
  kernel: Kernel
  transport: HttpTransport
  port: number
  /** Lines that were logged. */
  logged: { level: string, fields: Record<string, unknown>, message: string }[]
  /** Sends a request and reads its reply, which must fit the OpenAPI description. */
  ask (method: string, path: string, options?: { headers?: Record<string, string>, body?: unknown }): Promise<Answer>
  /** A POST of JSON. */
  post (path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  wire (): Promise<Wire>
  /** Throws when a reply is not as the OpenAPI description says. */
  check (method: string, path: string, answer: Answer): void
  stop (): Promise<void>
}

const echoParameters: ParameterDescriptor[] = [
  { name: 'text', type: 'string', description: 'The text', required: true, maxLength: 2_000_000, examples: ['hello'] },
  {
    name: 'times', type: 'integer', description: 'How often', required: false, default: 1, minimum: 1, maximum: 9,
    title: 'Times'
  },
  { name: 'rest', type: 'object', description: 'Anything', required: false }
]

const anyParameters: ParameterDescriptor[] = [{ name: 'size', type: 'integer', description: 'A size', required: false }]

/** The tools of the skill `demo`, by name. */
const demoTools: Record<string, InlineTool> = {
  echo: ({ text, times }) => String(text).repeat(Number(times)),
  big: ({ size }) => 'é'.repeat(Number(size ?? 0)),
  wait: (_parameters, { signal }) => new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => { reject(new Error('stopped')) }, { once: true })
  }),
  fail: () => { throw new Error('it failed') }
}

function demoSkill (tools: readonly string[]): SkillDefinition {
  const described = tools.map(name => {
    const parameters = name === 'echo' ? echoParameters : anyParameters
    return skillOf('inline', {
      name, description: `The tool ${name}`, parameters, input_schema: compileInputSchema(parameters)
    }).tool
  })
  return skillOf('inline', { name: 'none' }, { name: 'demo', tools: described }).skill
}

const search = definePlugin({
  name: 'search-test',
  slot: 'search',
  setup: () => ({
    async index () {},
    async search (query: string, { top_k }: SearchOptions) {
      if (query === 'break') throw new Error('a secret of the inside')
      return {
        mode: 'test',
        results: [{ skill_name: 'demo', tool_name: 'echo', description: query, score: 0.5 }].slice(0, top_k)
      }
    }
  })
})

export async function openServer ({
  engine, server = {}, config: sections = {}, tools = {}, plugins = [], key = process.env['SERVICE_API_KEY'] ?? ''
}: ServerOptions): Promise<TestServer> {
  const data_dir = await mkdtemp(join(tmpdir(), 'skillet-http-'))
  const logged: TestServer['logged'] = []
  let transport: HttpTransport | undefined
  const opened: Plugin<'transport'> = {
    ...http,
    // What its setup says it returns.
    async setup (context, options) { return transport = await http.setup(context, options) as HttpTransport }
  }
  const all = { ...demoTools, ...tools }
  const config = completeConfig(
    {
      ...sections,
      plugin: { http: { engine } },
      server: { port: 0, rate_limit_per_minute: 0, rate_limit_per_hour: 0, failed_auth_limit_per_minute: 0, ...server }
    },
    configSchema([http, ...plugins].flatMap(sectionsOf))
  )
  const inline = inlineExecutor({
    tools: Object.fromEntries(Object.entries(all).map(([name, tool]) => [`demo:${name}`, tool]))
  })
  const kernel = await createKernel({
    config, log: recorder(logged), version, data_dir,
    plugins: [
      storage,
      search,
      inline,
      skillSource({ skills: [demoSkill(Object.keys(all))], quarantined: [] }),
      ...plugins,
      opened
    ]
  }, new AbortController().signal).catch(async (error: unknown) => {
    await rm(data_dir, { recursive: true, force: true })
    throw error
  })
  if (transport === undefined) throw new Error('the transport did not start')
  const port = Number(new URL(transport.url).port)
  const check = await describedReplies(port, serverSection.of(config).auth_required ? key : undefined)
  const wire = (): Promise<Wire> => Wire.open(port)
  const ask: TestServer['ask'] = async (method, path, { headers = {}, body } = {}) => {
    const connection = await wire()
    try {
      const answer = await connection.write(requestOf(method, path, { Host: `127.0.0.1:${port}`, ...headers }, body))
        .read(method === 'HEAD')
      check(method, path, answer)
      return answer
    } finally {
      connection.destroy()
    }
  }
  return {
    kernel, transport, port, logged, ask, wire, check,
    post: (path, body, headers = {}) =>
      ask('POST', path, { headers: { 'Content-Type': 'application/json', ...headers }, body }),
    async stop () {
      await kernel.stop()
      await rm(data_dir, { recursive: true, force: true })
    }
  }
}

/** The text of a request; a body that is no string or bytes is sent as JSON. */
export function requestOf (method: string, path: string, headers: Record<string, string>, body?: unknown): Buffer {
  const bytes = body === undefined
    ? undefined
    : body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const lines = Object.entries({ ...(bytes !== undefined && { 'Content-Length': String(bytes.length) }), ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes ?? Buffer.alloc(0)])
}

/** Runs a test once for each engine, each time with a server of its own. */
export function eachEngine (
  t: Test, name: string, options: Omit<ServerOptions, 'engine'>, body: (t: Test, server: TestServer) => Promise<void>
): void {
  for (const engine of engines) {
    void t.test(`${name} (${engine})`, async t => {
      const server = await openServer({ engine, ...options })
      t.teardown(() => server.stop())
      await body(t, server)
    })
  }
}

interface Described { paths: Record<string, Record<string, {
  responses: Record<string, { content?: Record<string, { examples?: object }> }>
}>> }

/** Compiles the description that the server gives of itself to a check of its replies. */
async function describedReplies (port: number, key: string | undefined): Promise<TestServer['check']> {
  const connection = await Wire.open(port)
  const answer = await connection.write(
    requestOf('GET', '/api/openapi.json', { Host: 'localhost', ...(key !== undefined && { 'X-API-Key': key }) })
  ).read()
  connection.destroy()
  const document = answer.json as unknown as Described
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'doc')
  const templates = Object.keys(document.paths)
    .map(path => ({ path, pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`) }))
  return (method, path, answer) => {
    const bare = path.split('?')[0] ?? ''
    if (!bare.startsWith('/api') || /^\/api\/(open|async)api\.json$/.test(bare) || answer.bytes.length === 0) return
    const template = templates.find(({ pattern }) => pattern.test(bare))?.path
    const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()]
    if (operation !== undefined && operation.responses[answer.status] === undefined) {
      throw new Error(`${method} ${path}: ${answer.status} is not described`)
    }
    const pointer = operation === undefined || template === undefined
      ? '/components/schemas/Error'
      : `/paths/${template.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')}/${method.toLowerCase()}/responses/${answer.status}/content/application~1json/schema`
    const validate = ajv.getSchema(`doc#${pointer}`)
    if (validate === undefined) throw new Error(`the description has nothing at ${pointer}`)
    if (!validate(answer.json)) {
      throw new Error(`${method} ${path} ${answer.status} does not fit its description: ${ajv.errorsText(validate.errors)}\n${answer.text}`)
    }
    const codes = operation?.responses[answer.status]?.content?.['application/json']?.examples
    const code = answer.json['success'] === false ? answer.error.code : undefined
    if (codes !== undefined && code !== undefined && !Object.hasOwn(codes, code)) {
      throw new Error(`${method} ${path}: ${answer.status} is not described with ${code}`)
    }
    for (const field of ['api_version', 'service_version']) {
      if (answer.json[field] !== version.version) throw new Error(`${method} ${path} lacks ${field}`)
    }
  }
}

function recorder (into: TestServer['logged']): Logger {
  const at = (level: string) =>
    (fields: Record<string, unknown>, message: string): void => { into.push({ level, fields, message }) }
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return log
}
