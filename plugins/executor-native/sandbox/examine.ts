import type { Config, Finding } from '../../../kernel/index.ts'
import { remedyOf } from '../../toolkit/sandbox/remedy.ts'
import { confinedHelper } from '../helper-program.ts'
import { whyNoSandbox } from './probe.ts'

/** Whether commands can be confined on this machine, which is tried out, and whether the settings ask for it. */
export async function examineSandbox (mode: Config['isolation']['mode']): Promise<Finding[]> {
  const about = 'sandbox'
  const missing = await whyNoSandbox(confinedHelper())
  if (missing === undefined) {
    if (mode !== 'off') return [{ level: 'ok', about, text: 'commands of skills that are not trusted are confined' }]
    return [{
      level: 'note',
      about,
      text: 'this machine can confine commands, and isolation.mode = "off"',
      remedy: 'set isolation.mode = "auto"'
    }]
  }
  const text = `commands can't be confined here: ${missing}`
  if (mode === 'off') return [{ level: 'note', about, text }]
  return [{ level: mode === 'required' ? 'problem' : 'note', about, text, remedy: remedyOf(missing) }]
}
