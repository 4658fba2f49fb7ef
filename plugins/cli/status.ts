import type { ExecutionStatus } from '../../kernel/index.ts'
import type { Colors } from './terminal/terminal.ts'

/** The style of each status. */
const styles = {
  queued: 'dim', waiting: 'yellow', running: 'cyan', success: 'green', failed: 'red', timeout: 'red',
  cancelled: 'yellow', interrupted: 'yellow'
} as const satisfies Record<ExecutionStatus, keyof Colors>

export function statusStyle (status: ExecutionStatus, colors: Colors): (text: string) => string {
  return colors[styles[status]]
}
