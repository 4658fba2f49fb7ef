import { definePlugin } from '../../kernel/index.ts'
import { discover, discoveryRoutes } from './discovery.ts'
import { checkSettings } from './server/check-settings.ts'
import { declared, mcpSection } from './settings.ts'
import type { McpOverHttp } from './transports/http.ts'

/**
 * MCP on the HTTP server: `/mcp` for all revisions, and `/sse` with `/messages` for the oldest revision. It is loaded
 * at the first request. Beside it, the card by which clients find it.
 */
export default definePlugin({
  ...declared,
  slot: 'endpoint',
  setup ({ config, gateway, log, scope }) {
    checkSettings(mcpSection.of(config))
    let loaded: McpOverHttp | undefined
    let loading: Promise<McpOverHttp> | undefined
    const load = async (): Promise<McpOverHttp> => {
      const { McpOverHttp } = await import('./transports/http.ts')
      loaded = new McpOverHttp(gateway, config, log)
      return loaded
    }
    scope.defer(async () => { await (await loading)?.close() })
    return {
      routes: [
        { method: 'POST', path: '/mcp' }, { method: 'GET', path: '/mcp' }, { method: 'DELETE', path: '/mcp' },
        { method: 'GET', path: '/sse' }, { method: 'POST', path: '/messages' }, ...discoveryRoutes
      ],
      fetch: async (request, call) =>
        discover(request, gateway.version) ?? await (await (loading ??= load())).fetch(request, call),
      quiesce () { loaded?.quiesce() }
    }
  }
})
