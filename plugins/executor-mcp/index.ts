import { collectedBytesMax, definePlugin } from '../../kernel/index.ts'
import { examine } from './examine.ts'
import { McpExecutor } from './executor.ts'
import { Confinement } from './process/confinement.ts'
import { declared } from './settings.ts'

/** Runs the tools of MCP servers, which are skills with `runtime = "mcp"`. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup (context, { calls, servers }) {
    const { config, scope, log } = context
    const executor = new McpExecutor({
      calls, servers, outputBytesMax: collectedBytesMax(config), confinement: new Confinement(context), log
    })
    scope.defer(() => executor.close())
    return executor
  },
  examine: ({ skills }) => examine(skills)
})
