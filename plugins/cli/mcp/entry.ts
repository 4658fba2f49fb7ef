import { homedir } from 'node:os'
import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { ClientEntry } from './client-file.ts'
import { skillNameOf, type NewServer } from './new-server.ts'

/** Why a server of a client's file is not taken. */
export interface Passed { name: string, why: string }

/** Names of variables and headers whose values are secrets. */
const secretName = /key|token|secret|passw|pwd|credential|auth|cookie|(^|_)pat$/i
/** A value with a password in it, such as the address of a database. */
const secretValue = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]+:[^/@\s]+@/i

/** Turns a server of a client's file into a new skill. @param folder what clients call the workspace */
export function serverOfEntry ({ name: original, entry }: ClientEntry, folder: string): NewServer | Passed {
  const name = skillNameOf(original)
  if (name === undefined) return { name: original, why: 'its name has no letter or digit' }
  if (entry['disabled'] === true || entry['enabled'] === false) return { name: original, why: 'it is disabled there' }
  const taking = new Taking(folder)
  try {
    const mcp = wayOf(entry, taking)
    if (mcp === undefined) return { name: original, why: 'it has neither a command nor a url' }
    if (mcp.command !== undefined && isSkillet(mcp.command)) return { name: original, why: 'it is Skillet itself' }
    if (entry['envFile'] !== undefined) taking.notes.push('its envFile is not read; give its variables in env of [mcp]')
    const description = typeof entry['description'] === 'string' && entry['description'].trim() !== ''
      ? entry['description'].trim().slice(0, 1024)
      : `Tools of the MCP server ${original}`.slice(0, 1024)
    return { name, description, mcp, secrets: taking.secrets, notes: taking.notes }
  } catch (error) {
    if (error instanceof CommandSecret) return { name: original, why: error.message }
    throw error
  }
}

function wayOf (entry: JsonObject, taking: Taking): NewServer['mcp'] | undefined {
  const { command, args, env, cwd, url, serverUrl, headers } = entry
  const address = [url, serverUrl].find(value => typeof value === 'string')
  if (typeof command === 'string' && command !== '') {
    const words = [command, ...Array.isArray(args) ? args.filter(arg => typeof arg === 'string') : []]
    const variables = taking.values(env)
    return {
      command: words.map(word => taking.word(word)),
      ...(typeof cwd === 'string' && { cwd: taking.word(cwd) }),
      ...(Object.keys(variables).length > 0 && { env: variables })
    }
  }
  if (typeof address !== 'string' || !/^https?:\/\//.test(address)) return undefined
  const fields = taking.values(headers)
  return { url: taking.value('URL', address), ...(Object.keys(fields).length > 0 && { headers: fields }) }
}

/** A secret in an argument, where other users of the machine could read it. */
class CommandSecret extends Error {}

/** Takes values over, with the placeholders of clients, and puts secrets aside. */
class Taking {
  readonly secrets: Record<string, string | undefined> = {}
  readonly notes: string[] = []
  readonly #folder: string

  constructor (folder: string) {
    this.#folder = folder
  }

  /** An argument. @throws CommandSecret */
  word (text: string): string {
    return this.#replaced(text, name => {
      throw new CommandSecret(`its command holds the value of ${name}, which other users could read; give it in env`)
    })
  }

  /** Variables or headers. */
  values (table: unknown): Record<string, string> {
    if (!isObject(table)) return {}
    return Object.fromEntries(Object.entries(table).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? [[name, this.value(name, String(value))]]
        : []))
  }

  /** A value of this name. */
  value (name: string, text: string): string {
    const replaced = this.#replaced(text, variable => {
      const secret = secretNameOf(variable)
      this.secrets[secret] ??= undefined
      return `{{${secret}}}`
    })
    const isSecret = text !== '' && (secretName.test(name) || secretValue.test(text))
    if (replaced !== text || !isSecret) return replaced
    const secret = secretNameOf(name)
    this.secrets[secret] = text
    return `{{${secret}}}`
  }

  /** Replaces what clients put in: places of this machine, and the values of variables and of questions. */
  #replaced (text: string, variable: (name: string) => string): string {
    return text.replaceAll(/\$\{([^{}]*)\}/g, (all, inner: string) => {
      if (inner === 'workspaceFolder') return this.#folder
      if (inner === 'userHome') return homedir()
      const [, name] = /^(?:env:|input:)?([A-Za-z][\w-]*)(?::-.*)?$/.exec(inner) ?? []
      return name === undefined ? all : variable(name)
    })
  }
}

function secretNameOf (name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9]+/g, '_').toUpperCase().replace(/^[^A-Z]+/, '').slice(0, 128)
  return plain === '' ? 'SECRET' : plain
}

/** Whether a command is the one that `skillet connect` writes. */
function isSkillet (command: readonly string[]): boolean {
  return command.some(word => /(^|\/)skillet(\/dist\/program\/main\.js)?$|dist\/program\/main\.js$/.test(word))
    && command.includes('mcp')
}
