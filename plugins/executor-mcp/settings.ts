import { Type } from 'typebox'

/** The options in `[plugin.executor-mcp]`. */
const options = Type.Object({
  calls: Type.Integer({
    default: 64, minimum: 1, maximum: 4096, description: 'Calls of MCP servers that run at once'
  }),
  servers: Type.Integer({
    default: 32, minimum: 1, maximum: 1024,
    description: 'MCP servers that are kept running at once; the one that was idle longest ends when another one is needed'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'executor-mcp', options }
