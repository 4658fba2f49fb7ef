import { getStatistics, type RunStatistics, type Statistics } from '../../../kernel/index.ts'
import { looking } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { bars } from '../terminal/bars.ts'
import { align, duration, localTime, type Cell } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { filterNames, resolveTimes, timesHelp } from '../time.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet stats`: counts executions by tool, with their running times. */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, getStatistics, { names: filterNames })
  command.addHelpText('after', timesHelp)
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: looking,
    async act ({ gateway }, { json = false }) {
      const { terminal, signal } = context
      const statistics = await gateway.invoke(getStatistics, resolveTimes(input()), { transport: 'cli', signal })
      terminal.out(json ? `${JSON.stringify(statistics)}\n` : text(statistics, terminal))
    }
  })
}
export default define

function text (statistics: Statistics, { colors: { out }, columns }: Terminal): string {
  const { created_from, created_before, total, tools, tools_total } = statistics
  const time = `${localTime(created_from)} to ${localTime(created_before)}`
  if (total.count === 0) return `Nothing was run that fits, from ${time}.\n`
  const head = ['tool', 'runs', 'failed', 'p50', 'p95', 'p99', 'runs over time']
  const rows = [
    head.map(text => ({ text, style: out.dim })),
    row('all', total, out),
    ...tools.map(tool => row(`${tool.skill_name}:${tool.tool_name}`, tool, out))
  ]
  const more = tools_total > tools.length ? `${tools_total - tools.length} more tools: --limit ${tools_total}\n` : ''
  return `${out.dim(`${time}\n`)}${align(rows, { columns })}${out.dim(more)}`
}

function row (
  name: string, { count, failures, duration_ms, runs }: RunStatistics, { cyan, red }: Terminal['colors']['out']
): (Cell | string)[] {
  const failed = failures === 0 ? '0' : `${failures} (${Math.max(Math.round(failures / count * 100), 1)} %)`
  const times = duration_ms === null ? ['', '', ''] : [duration_ms.p50, duration_ms.p95, duration_ms.p99].map(duration)
  return [
    { text: name, style: cyan },
    String(count),
    failures === 0 ? failed : { text: failed, style: red },
    ...times,
    bars(runs)
  ]
}
