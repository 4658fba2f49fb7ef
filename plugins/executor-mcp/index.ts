import { definePlugin } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { McpExecutor } from './executor.ts'
import { declared } from './settings.ts'

/** Runs the tools of MCP servers, which are skills with `runtime = "mcp"`. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup ({ config, scope, log }, { calls, servers }) {
    const executor = new McpExecutor({
      calls, servers, outputBytesMax: config.execution.output_bytes_max, isolation: config.isolation, log
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: ({ skills }) => examine(skills)
})
