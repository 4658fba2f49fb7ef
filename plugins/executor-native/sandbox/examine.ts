import { schemas, type Config, type Confinement, type Finding } from '../../../kernel/index.ts'
import { promises, type Lacking } from '../../toolkit/sandbox/levels.ts'
import { remedyOf } from '../../toolkit/sandbox/remedy.ts'
import { isAtLeast } from '../../toolkit/sandbox-demand.ts'
import { confinedHelper } from '../helper-program.ts'
import { tryLevels } from './try-levels.ts'

/**
 * Which levels of isolation commands can have on this machine, which is tried out, and whether the settings ask for
 * them.
 */
export async function examineSandbox (isolation: Config['isolation'], probe = tryLevels): Promise<Finding[]> {
  const lacking = await probe(confinedHelper())
  return schemas.CONFINEMENTS.flatMap(level => findingOf(level, lacking, isolation))
}

function findingOf (level: Confinement, lacking: Lacking, { mode, level: wanted }: Config['isolation']): Finding[] {
  const about = level
  const missing = lacking[level]
  if (missing === undefined) {
    if (mode === 'off') {
      if (level !== 'sandbox') return [{ level: 'ok', about, text: 'this machine has this level' }]
      const text = 'this machine can confine commands, and isolation.mode = "off"'
      return [{ level: 'note', about, text, remedy: 'set isolation.mode = "auto"' }]
    }
    return [{
      level: 'ok', about,
      text: level === wanted ? 'commands of skills that are not trusted are confined' : 'this machine has this level'
    }]
  }
  const text = `commands can't be confined here: ${missing}`
  if (mode === 'off' || !isAtLeast(wanted, level)) {
    return [{ level: 'note', about, text, ...(mode !== 'off' && { remedy: remedyOf(missing) }) }]
  }
  const falls = mode === 'required' ? '; they do not run' : `; ${promises[level]}`
  return [{
    level: mode === 'required' ? 'problem' : 'note', about, text: `${text}${falls}`, remedy: remedyOf(missing)
  }]
}
