import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, SkilletError } from '../lib/errors.ts'
import { changeFile, isAbsent } from '../lib/file.ts'
import { isObject } from '../lib/json.ts'
import { CONFIGURED_NAME, splitInstance } from '../contracts/names.ts'
import { SECRET_NAME } from '../contracts/skill.ts'

/** The maximum size of a value, in bytes: the value must fit into an environment variable. */
export const secretBytesMax = 65_536
/** The maximum size of the file, in bytes. */
const fileBytesMax = 1_048_576

type Values = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The secrets that a skill receives, and the names of declared secrets that are not set. */
export interface SkillSecrets { values: Record<string, string>, missing: string[] }

/** The secrets, as executions use them. */
export interface Secrets {
  /**
   * Returns the secrets of a skill, or of an instance such as `github@work`, which shares none with its skill.
   * Synchronous, and cheap while the file does not change.
   * @throws Error with a remedy, when the file can't be used
   */
  of (skill: string, names: readonly string[]): SkillSecrets
}

/** An object without any secrets. */
export const noSecrets: Secrets = { of: (_skill, names) => ({ values: {}, missing: [...names] }) }

/**
 * The user's secrets, by skill and name, in one file that only the user can read. A change takes effect with the next
 * run. A secret of a skill that is missing in the file is read from the server's environment. That of an instance is
 * not.
 */
export class SecretFile implements Secrets {
  readonly path: string
  readonly #env: Readonly<Record<string, string | undefined>>
  #values: Values = new Map()
  /** The identity, size and times of the file at the last read. */
  #seen = ''

  /** @param directory `skillet` under the user's configuration directory */
  constructor (directory: string, env: Readonly<Record<string, string | undefined>>) {
    this.path = join(directory, 'secrets.json')
    this.#env = env
  }

  of (skill: string, names: readonly string[]): SkillSecrets {
    const secrets: SkillSecrets = { values: {}, missing: [] }
    const own = this.#read().get(skill)
    // A variable of the server would be the same for all instances, so that one would act with the account of another.
    const env = splitInstance(skill).instance === undefined ? this.#env : {}
    for (const name of names) {
      const value = own?.get(name) ?? (Object.hasOwn(env, name) && !isServersOwn(name) ? env[name] : undefined)
      if (value === undefined || value === '') secrets.missing.push(name)
      else secrets.values[name] = value
    }
    return secrets
  }

  /** @throws SkilletError INVALID_PARAMETERS when these are not valid names of a skill and a secret */
  check (skill: string, name: string): void {
    checkNames(skill, name)
  }

  /** The names of the secrets that are set, with their skills. @throws Error when the file can't be used */
  list (): { skill: string, name: string }[] {
    return [...this.#read()].flatMap(([skill, values]) => [...values.keys()].map(name => ({ skill, name })))
  }

  /** @throws Error when the name, the value or the file can't be used; the message never contains the value */
  async set (skill: string, name: string, value: string): Promise<void> {
    checkNames(skill, name)
    if (value === '') throw invalid('the value is empty')
    if (value.includes('\0')) throw invalid('the value holds a NUL character, which no environment variable can')
    if (value.includes('\uFFFD')) throw invalid('the value is not valid UTF-8')
    if (Buffer.byteLength(value) > secretBytesMax) throw invalid(`the value is longer than ${secretBytesMax} bytes`)
    await this.#change(values => {
      values.set(skill, new Map(values.get(skill)).set(name, value))
      return true
    })
  }

  /** @returns whether the secret existed. @throws Error */
  async remove (skill: string, name: string): Promise<boolean> {
    checkNames(skill, name)
    return await this.#change(values => {
      const own = new Map(values.get(skill))
      const removed = own.delete(name)
      if (own.size === 0) values.delete(skill)
      else values.set(skill, own)
      return removed
    })
  }

  #read (): Values {
    let stat
    try {
      stat = statSync(this.path, { bigint: true })
    } catch (error) {
      if (!isAbsent(error)) throw new Error(`${this.path} can't be read: ${messageOf(error)}`, { cause: error })
      this.#seen = ''
      return this.#values = new Map()
    }
    // A chmod changes ctime, so a change of the mode is noticed too.
    const seen = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
    if (seen !== this.#seen) {
      this.#values = readValues(this.path)
      this.#seen = seen
    }
    return this.#values
  }

  /** Changes the file. Resolves with the return value of `change`: whether it changed a value. */
  async #change (change: (values: Map<string, ReadonlyMap<string, string>>) => boolean): Promise<boolean> {
    const directory = dirname(this.path)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const { mode } = await lstat(directory)
    if ((mode & 0o022) !== 0) throw new Error(`other users can write to ${directory}; run: chmod go-w ${directory}`)
    let changed = false
    await changeFile(this.path, () => {
      const values = new Map(this.#read()) // #read checks the mode and the owner of the file
      changed = change(values)
      if (!changed) return undefined
      const text =
        JSON.stringify(Object.fromEntries([...values].map(([skill, own]) => [skill, Object.fromEntries(own)])), null, 2)
      if (Buffer.byteLength(text) > fileBytesMax) {
        throw new Error(`${this.path} would be larger than ${fileBytesMax} bytes`)
      }
      return `${text}\n`
    })
    return changed
  }
}

/** Whether a variable belongs to the server: no skill receives it, even when the skill declares it. */
export function isServersOwn (variable: string): boolean {
  return variable === 'SERVICE_API_KEY'
}

function checkNames (skill: string, name: string): void {
  // The messages do not quote the names, because the user may have typed NAME=VALUE.
  if (!CONFIGURED_NAME.test(skill)) {
    throw invalid('the skill\'s name must be 1 to 64 of a-z, 0-9 and -, or SKILL@INSTANCE with two such names')
  }
  if (!SECRET_NAME.test(name)) {
    throw invalid('the secret\'s name must begin with a letter and have 1 to 128 of A-Z, a-z, 0-9 and _; its value is read from standard input')
  }
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}

function readValues (path: string): Values {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  let text
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${path} is no file`)
    if ((stat.mode & 0o077) !== 0) throw new Error(`${path} can be read by other users; run: chmod 600 ${path}`)
    const user = process.getuid?.()
    if (user !== undefined && stat.uid !== user) {
      throw new Error(`${path} belongs to another user; run: chown ${user} ${path}`)
    }
    if (stat.size > fileBytesMax) throw new Error(`${path} is larger than ${fileBytesMax} bytes`)
    text = readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
  const values = parseValues(text)
  // The message does not quote the content of the file, which may be a secret.
  if (values === undefined) {
    throw new Error(`${path} is damaged: it must hold {"skill": {"NAME": "value"}}; mend it, or remove it and set the secrets again`)
  }
  return values
}

function parseValues (text: string): Values | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  const values = new Map<string, Map<string, string>>()
  if (!isObject(parsed)) return undefined
  for (const [skill, own] of Object.entries(parsed)) {
    if (!isObject(own)) return undefined
    const named = new Map<string, string>()
    for (const [name, value] of Object.entries(own)) {
      if (typeof value !== 'string') return undefined
      named.set(name, value)
    }
    values.set(skill, named)
  }
  return values
}
