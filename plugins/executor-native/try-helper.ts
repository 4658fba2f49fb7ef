import type { HelperAnswer, HelperProcess } from './helper-process.ts'
import type { Environment } from './protocol.ts'

/**
 * Runs the command `true` in a helper.
 * @param rules the id of the rules that confine it; 0 in a helper without a sandbox
 * @returns the last message about the command: `ended`, `refused` or `lost`
 */
export function tryHelper (helper: HelperProcess, env: Environment, rules: number): Promise<HelperAnswer> {
  const request = {
    program: 'true', args: [], cwd: '/', env, live: false, output_bytes_max: 0, output_bytes_stop: 0, rules
  }
  return new Promise(resolve => {
    helper.run(request, undefined, answer => { if (answer.type !== 'started') resolve(answer) })
  })
}
