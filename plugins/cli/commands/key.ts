import { InvalidArgumentError, Option, type Command } from 'commander'
import {
  ACCESS_PATTERN, changeFile, configFile, defaultKeyName, hashKey, KEY_NAME, messageOf, newKey, readKeys, SCOPES,
  usualScopes, type AccessScope, type KeySettings
} from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addKey, removeKey } from '../files/key-file.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Common { config?: string, json?: boolean }
interface Create extends Common {
  scope?: AccessScope[]
  skill?: string[]
  rateLimitPerMinute?: number
  rateLimitPerHour?: number
}

const aboutSkill = 'a skill it may use, such as git or data-*, an instance, such as forge@work, or a tool, such as git:log; all, where absent'

/**
 * `skillet key create|list|revoke`: manages the named keys in the configuration file. A running server applies changes.
 */
const define: DefineCommand = (key, { terminal }) => {
  const command = <Options extends Common>(name: string, description: string, act: Act<Options>): Command =>
    addCommand(key, name, description, act, terminal)

  command<Create>(
    'create',
    'Make a key and print it; only its hash is kept',
    (options, name, file) => create(options, name, file, terminal)
  )
    .argument('<name>', 'what to call it', nameOf)
    .addOption(new Option('--scope <scope>', `what it may do: ${SCOPES.join(', ')}; ${usualScopes.join(' and ')}, where absent`)
      .argParser((value, before?: AccessScope[]) => [...before ?? [], scopeOf(value)]))
    .addOption(new Option('--skill <pattern>', aboutSkill)
      .argParser((value, before?: string[]) => [...before ?? [], patternOf(value)]))
    .addOption(new Option('--rate-limit-per-minute <number>', 'requests per minute; 0: no limit').argParser(countOf))
    .addOption(new Option('--rate-limit-per-hour <number>', 'requests per hour; 0: no limit').argParser(countOf))
  command<Common>('list', 'List the keys', ({ json = false }, _name, file) => { list(json, file, terminal) })
  command<Common>('revoke', 'Revoke a key', async ({ json = false }, name, file) => {
    await changeFile(file, text => removeKey(text, name))
    terminal.out(json ? `${JSON.stringify({ name, revoked: true, file })}\n` : `The key "${name}" is revoked.\n`)
  }).argument('<name>', 'its name', nameOf)
}
export default define

/** What a command does with its options, the name of a key and the configuration file. */
type Act<Options extends Common> = (options: Options, name: string, file: string) => Promise<void> | void

/** Adds a command for the keys of a configuration file. An error of `act` becomes a UsageError that names the file. */
function addCommand<Options extends Common> (
  key: Command,
  name: string,
  description: string,
  act: Act<Options>,
  { env, cwd }: Terminal
): Command {
  const added = key.command(name)
    .description(description)
    .option('--json', 'print JSON')
    .option('--config <file>', 'configuration file')
  return added.action(async () => {
    const options = added.opts<Options>()
    const file = configFile({ env, cwd, ...(options.config !== undefined && { file: options.config }) })
    try {
      await act(options, added.args[0] ?? '', file)
    } catch (error) {
      throw new UsageError(`${file}: ${messageOf(error)}`, { cause: error })
    }
  })
}

async function create (
  { json = false, scope, skill = [], rateLimitPerMinute, rateLimitPerHour }: Create,
  name: string,
  file: string,
  terminal: Terminal
): Promise<void> {
  const key = newKey()
  const settings: KeySettings = {
    hash: hashKey(key),
    scopes: scope === undefined ? [...usualScopes] : [...new Set(scope)],
    skills: skill,
    ...(rateLimitPerMinute !== undefined && { rate_limit_per_minute: rateLimitPerMinute }),
    ...(rateLimitPerHour !== undefined && { rate_limit_per_hour: rateLimitPerHour }),
    created_at: new Date().toISOString()
  }
  await changeFile(file, text => addKey(text, name, settings))
  terminal.out(json ? `${JSON.stringify({ name, key, file, ...publicSettings(settings) })}\n` : `${key}\n`)
  if (!json) terminal.err(`The key "${name}" is in ${file}, as a hash. It is shown here once.\n`)
}

function list (json: boolean, file: string, terminal: Terminal): void {
  const keys = Object.entries(readKeys(file)).map(([name, settings]) => ({ name, ...publicSettings(settings) }))
  if (json) terminal.out(`${JSON.stringify({ file, keys })}\n`)
  else if (keys.length === 0) terminal.out('There are no named keys. Make one with skillet key create NAME.\n')
  else {
    terminal.out(keys.map(key => {
      const { name, scopes = [], skills = [], rate_limit_per_minute: minute, rate_limit_per_hour: hour } = key
      const rights = [
        scopes.join(', '),
        skills.length === 0 ? 'all skills' : skills.join(' '),
        ...(minute === undefined ? [] : [`${minute || 'any number'} per minute`]),
        ...(hour === undefined ? [] : [`${hour || 'any number'} per hour`]),
        ...(key.created_at === undefined ? [] : [`since ${key.created_at}`])
      ]
      return `${name}  ${rights.join('; ')}\n`
    }).join(''))
  }
}

function publicSettings (settings: KeySettings): Partial<KeySettings> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'hash'))
}

function nameOf (text: string): string {
  if (!KEY_NAME.test(text)) throw new InvalidArgumentError('A name has 1 to 64 letters, digits, "-" and "_".')
  if (text === defaultKeyName) {
    throw new InvalidArgumentError(`"${defaultKeyName}" is the name of the key in SERVICE_API_KEY.`)
  }
  return text
}

function scopeOf (text: string): AccessScope {
  const scope = SCOPES.find(scope => scope === text)
  if (scope === undefined) throw new InvalidArgumentError(`It is ${SCOPES.join(', ')}.`)
  return scope
}

function patternOf (text: string): string {
  if (!ACCESS_PATTERN.test(text)) {
    throw new InvalidArgumentError('Write a name such as git, a pattern such as data-*, or a tool such as git:log.')
  }
  return text
}

function countOf (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.')
  return Number(text)
}
