import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { definePlugin, messageOf } from '../../../kernel/index.ts'
import { checkSettings } from '../server/check-settings.ts'
import { createServer } from '../server/create-server.ts'
import { Host } from '../server/host.ts'
import { LineTransport } from './lines.ts'
import { openProtocol } from './respawn.ts'
import { mcpSection } from '../settings.ts'

/** MCP with one client, on the client's standard input and output. It ends when the client does. */
export default definePlugin({
  name: 'mcp-stdio',
  slot: 'transport',
  sections: [mcpSection],
  setup ({ config, gateway, log, scope }) {
    checkSettings(mcpSection.of(config))
    const host = new Host(gateway, config, log)
    scope.defer(() => host.close())
    let wire: LineTransport | undefined
    const protocol = openProtocol(() => { void wire?.close() })
    const lines = wire = new LineTransport(protocol, protocol, config.execution.drain_ms)
    const handle = serveStdio(() => createServer(host, { access: undefined, tracked: true }), {
      transport: lines,
      onerror: error => { log.debug({ error: messageOf(error) }, 'a message could not be served') }
    })
    scope.defer(() => handle.close())
    const ended = new Promise<void>(resolve => {
      const closed = lines.onclose
      lines.onclose = () => {
        closed?.()
        resolve()
      }
    })
    // On shutdown it does not wait for running calls: the client does not wait either, and soon kills the process.
    return { ended, quiesce: () => handle.close() }
  }
})
