import { realpathSync, statSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { configHome, SKILL_NAME, SkilletError } from '../../../kernel/index.ts'
import { KeptTexts } from '../../toolkit/trust/kept-texts.ts'
import { TrustFile } from '../../toolkit/trust/trust-file.ts'
import { UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { LockFile } from '../packages/lock-file.ts'
import { withWorkspace } from '../packages/workspace.ts'
import { agrees } from '../terminal/agrees.ts'

/** `skillet remove SKILL`: removes a skill from the user's own skills. */
const define: DefineCommand = (command, context) => {
  command.argument('<skill>', 'the skill')
    .option('--yes', 'remove it without a question')
    .option('--json', 'print JSON')
  command.action(async (name: string, options: { yes?: boolean, json?: boolean }) => {
    const { terminal } = context
    const directory = configHome(terminal.env)
    const skills = join(directory, 'skills')
    const folder = join(skills, name)
    if (!SKILL_NAME.test(name)) throw new UsageError(`"${name}" can't be the name of a skill`)
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
      throw new SkilletError(
        'NOT_FOUND',
        `there is no ${folder}; a skill that is elsewhere is removed there, and bundled ones are left out by skills.bundled = false`
      )
    }
    const lock = new LockFile(directory)
    const entry = lock.read().find(installed => installed.name === name)
    const from = entry === undefined ? 'it was not installed by skillet add' : `installed from ${entry.source}`
    if (!await agrees(`Remove ${folder} (${from})? [y/N] `, options, context)) return
    const path = realpathSync(folder)
    await withWorkspace(skills, async workspace => { await rename(folder, join(workspace, name)) })
    await lock.remove(name)
    const trust = new TrustFile(directory)
    await trust.remove(record => record.path === path)
    await new KeptTexts(directory).prune(new Set(trust.read().map(({ hash }) => hash)))
    terminal.out(options.json === true
      ? `${JSON.stringify({ name, folder, removed: true })}\n`
      : `${folder} is removed.\n`)
  })
}
export default define
