import { definePlugin, within, type JsonObject, type Transport, type TransportContext } from '../../kernel/index.ts'
import { App } from './api/app.ts'
import { RequestGuard } from './access/request-guard.ts'
import { Bodies } from './engine/bodies.ts'
import { chooseEngine } from './engine/engine.ts'
import { examine } from './examine.ts'
import { isLoopback, isWildcard, OwnHosts, urlHost } from './access/hosts.ts'
import { Keys } from './access/keys.ts'
import { watchKeys } from './access/key-watch.ts'
import { openApi } from './api/openapi.ts'
import { asyncApi } from './live/asyncapi.ts'
import { OpenStreams } from './live/open-streams.ts'
import { streamPath } from './live/stream-target.ts'
import { Origins } from './access/origins.ts'
import { addPages } from './pages/pages.ts'
import type { EngineName } from './engine/server.ts'
import { declared, serverSection, type ServerSettings } from './settings.ts'

/** The HTTP server, as its plugin returns it. */
export interface HttpTransport extends Transport {
  /** The URL at which it listens, such as `http://127.0.0.1:3000`; for a wildcard, with the loopback address. */
  readonly url: string
  /** The engine in use. */
  readonly engine: EngineName
}

/** How long the server waits at its close for replies that are still being sent, in milliseconds. */
const close_ms = 5_000

/** How much longer a whole request may take to arrive than its body, in milliseconds. */
const head_ms = 10_000

/** The HTTP API, derived from the kernel's table of operations. */
export default definePlugin({
  ...declared,
  slot: 'transport',
  async setup (context, { engine: choice }): Promise<HttpTransport> {
    const { config, config_file, log, scope } = context
    const settings = serverSection.of(config)
    const { host, port, body_timeout_ms } = settings
    refuseInsecure(settings)
    const keys = new Keys(process.env['SERVICE_API_KEY'])
    keys.replace(settings.keys)
    const streams = new OpenStreams(settings.streams_max)
    const app = createApp(context, settings, keys, streams)
    if (config_file !== undefined) scope.defer(watchKeys(config_file, keys, log))

    const engine = await chooseEngine(choice, log)
    const server = await engine.listen({
      host: host.replace(/^\[|\]$/g, ''), port, handler: app.handle, request_timeout_ms: body_timeout_ms + head_ms,
      malformed: app.replies.malformed(), web_socket_paths: [streamPath], log
    })
      .catch((error: unknown) => { throw new Error(`can't listen at ${address(host, port)}: ${reasonOf(error)}`, {
        cause: error
      }) })
    scope.defer(async () => {
      app.quiesce()
      server.refuse()
      streams.end()
      await within(close_ms, server.idle())
      server.close()
    })
    const url = address(host, server.port)
    log.info(
      { url, engine: engine.name, ...(engine.package !== undefined && { package: engine.package }) },
      `listening at ${url} (${engine.name})`
    )
    return {
      url,
      engine: engine.name,
      quiesce () {
        app.quiesce()
        server.refuse()
      }
    }
  },
  examine: ({ config, signal }) => examine(serverSection.of(config), signal)
})

/** The operations, the description of the API, the pages and the endpoints of other protocols. */
function createApp (
  { config, endpoints, gateway, log }: TransportContext, settings: ServerSettings, keys: Keys, streams: OpenStreams
): App {
  const { host, auth_required, allowed_hosts, cors_origins, body_bytes_max, bodies_bytes_max, body_timeout_ms } =
    settings
  const app = new App({
    debug: config.log_level === 'debug',
    bodies: new Bodies({
      bytesMax: body_bytes_max, bytesHeldMax: Math.max(bodies_bytes_max, body_bytes_max), timeout_ms: body_timeout_ms
    }),
    gateway,
    hosts: new OwnHosts(host, allowed_hosts),
    origins: new Origins(cors_origins, auth_required),
    guard: new RequestGuard(settings, keys),
    log,
    streams
  })
  addPages(app, gateway.version)
  for (const endpoint of endpoints) app.addEndpoint(endpoint)
  const { operations, version } = gateway
  addDocument(app, '/api/openapi.json', openApi({ operations, version, auth_required }))
  addDocument(app, '/api/asyncapi.json', asyncApi(version, auth_required))
  return app
}

/** Serves a description of the API. */
function addDocument (app: App, path: string, document: JsonObject): void {
  const text = JSON.stringify(document)
  app.router.add('GET', path, {
    writes: false, access: 'key',
    run: context => { app.replies.json(context, text, context.framing.last ? 'now' : 'keep') }
  })
}

function address (host: string, port: number): string {
  const reachable = isWildcard(host) ? (host.includes(':') ? '::1' : '127.0.0.1') : host
  return `http://${urlHost(reachable)}:${port}`
}

/** @throws Error when everybody on the network could run tools */
function refuseInsecure ({ host, auth_required, allow_insecure }: ServerSettings): void {
  if (auth_required || allow_insecure || isLoopback(host)) return
  throw new Error(`server.host ${host} is reachable from other machines: set server.auth_required (with SERVICE_API_KEY), or server.allow_insecure if all of them may run tools`)
}

function reasonOf (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE' || error.message.includes('EADDRINUSE')) {
    return 'the port is in use; choose another with server.port'
  }
  return error.message
}
