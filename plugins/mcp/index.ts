import { definePlugin } from '../../kernel/index.ts'
import { checkAddresses } from './server/addresses.ts'
import { declared, mcpSection } from './settings.ts'
import type { McpOverHttp } from './transports/http.ts'

/**
 * MCP on the HTTP server: `/mcp` for all revisions, and `/sse` with `/messages` for the oldest revision. It is loaded
 * at the first request.
 */
export default definePlugin({
  ...declared,
  slot: 'endpoint',
  setup ({ config, gateway, log, scope }) {
    const settings = mcpSection.of(config)
    checkAddresses(settings.resources)
    let loaded: McpOverHttp | undefined
    let loading: Promise<McpOverHttp> | undefined
    const load = async (): Promise<McpOverHttp> => {
      const { McpOverHttp } = await import('./transports/http.ts')
      loaded = new McpOverHttp(gateway, settings, log)
      return loaded
    }
    scope.defer(async () => { await (await loading)?.close() })
    return {
      routes: [
        { method: 'POST', path: '/mcp' }, { method: 'GET', path: '/mcp' }, { method: 'DELETE', path: '/mcp' },
        { method: 'GET', path: '/sse' }, { method: 'POST', path: '/messages' }
      ],
      fetch: async (request, call) => (await (loading ??= load())).fetch(request, call),
      quiesce () { loaded?.quiesce() }
    }
  }
})
