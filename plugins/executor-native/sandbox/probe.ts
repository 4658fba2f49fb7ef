import type { Confinement } from '../../../kernel/index.ts'
import { HelperProcess } from '../helper-process.ts'
import { levelArgs } from '../../toolkit/sandbox/level-args.ts'
import type { HelperProgram } from '../helper-program.ts'
import { tryHelper } from '../try-helper.ts'

/** How long the probe may take, in milliseconds. */
const probe_ms = 10_000

/**
 * Whether this machine can confine commands at a level: a helper enters the sandbox and runs a command in it. Versions
 * tell too little: distributions and containers forbid parts of it.
 * @returns undefined when it works; otherwise the part that is missing
 */
export async function whyNoSandbox (
  program: HelperProgram | undefined, level: Confinement = 'sandbox'
): Promise<string | undefined> {
  if (program === undefined) return 'the part in C was not built: it needs Linux and a C compiler (npm run build)'
  const args = [...program.args, '--sandbox', '--network', 'off', ...levelArgs(level)]
  const helper = new HelperProcess({ ...program, args })
  const timer = setTimeout(() => { helper.kill() }, probe_ms)
  try {
    helper.keepRules(1, [{ path: '/', access: 'read' }], { memory_bytes_max: 0, processes_max: 0, cpu_ms_max: 0 })
    const answer = await tryHelper(helper, {}, 1)
    switch (answer.type) {
      case 'ended': return answer.exit_code === 0 ? undefined : `a confined command exited with ${answer.exit_code}`
      case 'refused': return `a confined command does not start: ${answer.system_code}`
      default: return (await helper.gone)?.replace(/^exit code 1: /, '') ?? 'the helper ended'
    }
  } finally {
    clearTimeout(timer)
    await helper.close()
  }
}
