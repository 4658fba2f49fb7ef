import t from 'tap'
import mcp from '../../../plugins/mcp/index.ts'
import { forTap, testEndpoint } from '../../../plugins/testing/index.ts'

/** A request of revision 2026-07-28, which needs no session. */
function request (method: string, params: object = {}): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'suite', version: '1' }
  }
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': method,
      ...('name' in params && { 'mcp-name': String(params.name) })
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
  })
}

t.test('MCP over HTTP is an endpoint', t => testEndpoint(forTap(t), {
  plugin: mcp,
  good: () => request('tools/list'),
  hang: () =>
    request('tools/call', { name: 'execute', arguments: { skill_name: 'subject', tool_name: 'hang', parameters: {} } }),
  stream: () => new Request('http://localhost/sse', { headers: { accept: 'text/event-stream' } })
}))
