import { configHome, SkilletError } from '../../../kernel/index.ts'
import { KeptTexts } from '../../toolkit/trust/kept-texts.ts'
import { TrustFile } from '../../toolkit/trust/trust-file.ts'
import type { DefineCommand } from '../command.ts'

/** `skillet untrust SKILL`: ends the trust in all contents of skills of this name. */
const define: DefineCommand = (command, { terminal }) => {
  command.argument('<skill>', 'the skill').option('--json', 'print JSON')
  command.action(async (name: string, { json = false }: { json?: boolean }) => {
    const directory = configHome(terminal.env)
    const file = new TrustFile(directory)
    const removed = await file.remove(record => record.name === name)
    if (removed.length === 0) {
      throw new SkilletError('NOT_FOUND', `no skill "${name}" is trusted by its content; see skillet trust --list`)
    }
    await new KeptTexts(directory).prune(new Set(file.read().map(({ hash }) => hash)))
    const paths = removed.map(({ path }) => path)
    const text = paths.map(path => `The skill "${name}" in ${path} is not trusted any more.\n`).join('')
    terminal.out(json ? `${JSON.stringify({ name, paths, untrusted: true })}\n` : text)
  })
}
export default define
