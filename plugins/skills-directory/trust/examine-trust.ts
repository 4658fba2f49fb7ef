import type { Finding } from '../../../kernel/index.ts'
import type { DirectorySettings } from '../settings.ts'

/** What a user should know about the trust of skills. Changed skills are warnings of the loaded skills already. */
export function examineTrust (settings: Pick<DirectorySettings, 'trusted' | 'locked'>): Finding[] {
  const { trusted, locked } = settings
  return trusted.map((path): Finding => ({
    level: 'note',
    about: 'skills.trusted',
    text: `${path}: every skill in this directory is trusted, whatever it holds` +
      (locked ? '; skills.locked does not apply to it' : ''),
    remedy: 'to trust the present content of a skill only: skillet trust NAME'
  }))
}
