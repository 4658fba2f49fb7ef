import type { Config, Finding } from '../../kernel/index.ts'
import { confinedProgram } from '../toolkit/sandbox/confined-program.ts'
import { remedyOf } from '../toolkit/sandbox/remedy.ts'
import { whyNoScriptSandbox } from './confined/probe.ts'

/** Whether scripts can be confined on this machine, which is tried out, where the settings ask for it. */
export async function examineScriptSandbox ({ mode, level }: Config['isolation']): Promise<Finding[]> {
  if (mode === 'off') return []
  const about = 'sandbox of scripts'
  const missing = await whyNoScriptSandbox(confinedProgram(), level)
  const text = 'scripts of skills that are not trusted are confined'
  if (missing === undefined) return [{ level: 'ok', about, text }]
  return [{
    level: mode === 'required' ? 'problem' : 'note', about, text: `scripts can't be confined here: ${missing}`,
    remedy: remedyOf(missing)
  }]
}
