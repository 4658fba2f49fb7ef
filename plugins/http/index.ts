import { Type } from 'typebox'
import { definePlugin, schemas, within, type Config, type Transport } from '../../kernel/index.ts'
import { App } from './api/app.ts'
import { RequestGuard } from './access/request-guard.ts'
import { chooseEngine } from './engine/engine.ts'
import { examine } from './examine.ts'
import { isLoopback, isWildcard, OwnHosts, urlHost } from './access/hosts.ts'
import { Keys } from './access/keys.ts'
import { watchKeys } from './access/key-watch.ts'
import { openApi } from './api/openapi.ts'
import { Origins } from './access/origins.ts'
import { addPages } from './pages/pages.ts'
import type { EngineName } from './engine/server.ts'

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
  name: 'http',
  slot: 'transport',
  options: Type.Object({
    engine: schemas.Choice(['auto', 'uws', 'node'], { default: 'auto', description: 'uws: uWebSockets.js; node: node:http; auto: uWebSockets.js where it loads' })
  }, { additionalProperties: false }),
  async setup ({ config, config_file, endpoints, gateway, log, scope }, { engine: choice }): Promise<HttpTransport> {
    const { host, port, auth_required, allowed_hosts, cors_origins } = config.server
    refuseInsecure(config)
    const keys = new Keys(process.env['SERVICE_API_KEY'])
    keys.replace(config.server.keys)
    const app = new App({
      config,
      gateway,
      hosts: new OwnHosts(host, allowed_hosts),
      origins: new Origins(cors_origins, auth_required),
      guard: new RequestGuard(config.server, keys),
      log
    })
    if (config_file !== undefined) scope.defer(watchKeys(config_file, keys, log))
    addPages(app, gateway.version)
    for (const endpoint of endpoints) app.addEndpoint(endpoint)
    const description = JSON.stringify(openApi({ operations: gateway.operations, version: gateway.version, auth_required }))
    app.router.add('GET', '/api/openapi.json', { writes: false, access: 'key', run: turn => { app.replies.json(turn, description, turn.framing.last ? 'now' : 'keep') } })

    const engine = await chooseEngine(choice, log)
    const server = await engine.listen({ host: host.replace(/^\[|\]$/g, ''), port, handler: app.handle, request_timeout_ms: config.server.body_timeout_ms + head_ms, malformed: app.replies.malformed(), log })
      .catch((error: unknown) => { throw new Error(`can't listen at ${address(host, port)}: ${reasonOf(error)}`, { cause: error }) })
    scope.defer(async () => {
      app.quiesce()
      server.refuse()
      await within(close_ms, server.idle())
      server.close()
    })
    const url = address(host, server.port)
    log.info({ url, engine: engine.name, ...(engine.package !== undefined && { package: engine.package }) }, `listening at ${url} (${engine.name})`)
    return {
      url,
      engine: engine.name,
      quiesce () {
        app.quiesce()
        server.refuse()
      }
    }
  },
  examine: ({ config, signal }) => examine(config.server, signal)
})

function address (host: string, port: number): string {
  const reachable = isWildcard(host) ? (host.includes(':') ? '::1' : '127.0.0.1') : host
  return `http://${urlHost(reachable)}:${port}`
}

/** @throws Error when everybody on the network could run tools */
function refuseInsecure ({ server: { host, auth_required, allow_insecure } }: Config): void {
  if (auth_required || allow_insecure || isLoopback(host)) return
  throw new Error(`server.host ${host} is reachable from other machines: set server.auth_required (with SERVICE_API_KEY), or server.allow_insecure if all of them may run tools`)
}

function reasonOf (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE' || error.message.includes('EADDRINUSE')) return 'the port is in use; choose another with server.port'
  return error.message
}
