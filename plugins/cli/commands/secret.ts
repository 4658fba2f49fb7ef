import type { Command } from 'commander'
import { configHome, SecretFile, secretBytesMax, secretLengthMin, SkilletError } from '../../../kernel/index.ts'
import type { DefineCommand } from '../command.ts'

interface Options { json?: boolean }

/** `skillet secret set|list|remove`: manages the secrets that skills declare in `permissions.secrets`. */
const define: DefineCommand = (secret, { terminal, signal }) => {
  const file = new SecretFile(configHome(terminal.env), terminal.env)
  const answer = ({ json = false }: Options, value: object, text: string): void => {
    terminal.out(json ? `${JSON.stringify(value)}\n` : text)
  }
  const add = (usage: string, description: string): Command =>
    secret.command(usage).description(description).option('--json', 'print JSON')

  add('set <skill> <name>', 'set a secret; its value is read from standard input, one line end after it is left off')
    .action(async (skill: string, name: string, options: Options) => {
      file.check(skill, name)
      const value = (
        await terminal.hidden(`Value of ${name} for the skill ${skill}: `, secretBytesMax + 2, signal)
      ).replace(/\r?\n$/, '')
      await file.set(skill, name, value)
      if (value.length < secretLengthMin) {
        terminal.err(`warning: a value of less than ${secretLengthMin} characters can't be kept out of what tools put out\n`)
      }
      answer(options, { skill, name, path: file.path }, `set ${name} for the skill ${skill}\n`)
    })

  add('list [skill]', 'list the names of the secrets that are set')
    .action((skill: string | undefined, options: Options) => {
      const secrets = file.list().filter(secret => skill === undefined || secret.skill === skill)
      answer(options, { secrets }, secrets.map(secret => `${secret.skill} ${secret.name}\n`).join(''))
    })

  add('remove <skill> <name>', 'remove a secret')
    .action(async (skill: string, name: string, options: Options) => {
      if (!await file.remove(skill, name)) {
        throw new SkilletError('NOT_FOUND', `the skill "${skill}" has no secret ${name}`)
      }
      answer(options, { skill, name, removed: true }, `removed ${name} of the skill ${skill}\n`)
    })
}
export default define
