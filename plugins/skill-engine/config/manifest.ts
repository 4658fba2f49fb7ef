import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { parseToml } from './config-file.ts'
import { readContainer, refusalOf, type Container } from './docker.ts'
import { readRaw, resolveInstance, type Instance, type UnusableInstance } from './instance.ts'
import { UnsetVariable } from './interpolate.ts'
import { limits, noteUnknown, optionalFlag, optionalText, tableOf, WrongType } from './values.ts'

/** A service that a skill speaks to. Information only. */
export interface Service { name: string, description?: string, optional: boolean, default_port?: number }

/** An entry of a manifest that can be loaded. */
export interface Entry {
  key: string
  source: string
  runtime: 'wasm' | 'docker' | 'native'
  description?: string
  default_instance?: string
  instances: Map<string, Instance | UnusableInstance>
  /** The settings that hold without an instance. */
  defaults: Instance | UnusableInstance
  services: Service[]
  /** For `docker`. */
  container?: Container | UnusableInstance
  notes: string[]
}

/** An entry that can't be loaded: the kind of the reason, and the message. */
export interface RefusedEntry { key: string, reason: string, message: string }

/**
 * Reads a manifest (`.skill-engine.toml`, `manifest.toml`). A fault of one entry refuses that entry only.
 * @throws Error in one line when nothing of it can be read
 */
export function parseManifest (
  text: string, variables: NodeJS.ProcessEnv
): { entries: Entry[], refused: RefusedEntry[] } {
  const table = parseToml(text)
  const defaults = readRaw(tableOf(table, 'defaults', ''), 'defaults.', [])
  const entries: Entry[] = []
  const refused: RefusedEntry[] = []
  for (const [key, value] of Object.entries(tableOf(table, 'skills', '')).slice(0, limits.entries)) {
    try {
      const entry = readEntry(key, value, defaults, variables)
      if ('reason' in entry) refused.push(entry)
      else entries.push(entry)
    } catch (error) {
      if (!(error instanceof WrongType)) throw error
      refused.push({ key, reason: 'entry-invalid', message: messageOf(error) })
    }
  }
  return { entries, refused }
}

const known = ['source', 'runtime', 'description', 'ref', 'default_instance', 'instances', 'services', 'docker']

function readEntry (
  key: string, value: unknown, defaults: ReturnType<typeof readRaw>, variables: NodeJS.ProcessEnv
): Entry | RefusedEntry {
  if (!isObject(value)) throw new WrongType(`skills.${key} must be a table`)
  const notes: string[] = []
  noteUnknown(value, known, '', notes)
  const runtime = optionalText(value, 'runtime', '', notes) ?? 'wasm'
  if (runtime !== 'wasm' && runtime !== 'docker' && runtime !== 'native') {
    return { key, reason: 'runtime-unknown', message: `the runtime "${runtime}" is not known: wasm, docker or native` }
  }
  const source = optionalText(value, 'source', '', notes)
  if (source === undefined) return { key, reason: 'source-absent', message: 'the entry has no "source"' }
  const container = runtime === 'docker' ? containerOf(key, value, variables, notes) : undefined
  if (container !== undefined && 'reason' in container) return container
  const description = optionalText(value, 'description', '', notes)
  const default_instance = optionalText(value, 'default_instance', '', notes)
  const instances = instancesOf(value, defaults, variables, notes)
  return {
    key, source, runtime, instances, notes,
    defaults: resolveInstance(readRaw({}, '', []), defaults, variables),
    services: servicesOf(value, notes),
    ...(description !== undefined && { description }),
    ...(default_instance !== undefined && { default_instance }),
    ...(container !== undefined && { container })
  }
}

function instancesOf (
  value: JsonObject, defaults: ReturnType<typeof readRaw>, variables: NodeJS.ProcessEnv, notes: string[]
): Entry['instances'] {
  return new Map(Object.entries(tableOf(value, 'instances', '')).map(([name, table]) => {
    if (!isObject(table)) throw new WrongType(`instances.${name} must be a table`)
    const resolved = resolveInstance(readRaw(table, `instances.${name}.`, notes), defaults, variables)
    if ('unusable' in resolved) notes.push(`instance-unusable: ${name}`)
    return [name, resolved]
  }))
}

function containerOf (
  key: string, value: JsonObject, variables: NodeJS.ProcessEnv, notes: string[]
): Container | UnusableInstance | RefusedEntry {
  const message = 'the runtime is docker, and the entry has no table "docker" with an image'
  const absent: RefusedEntry = { key, reason: 'docker-absent', message }
  if (!isObject(value['docker']) || value['docker']['image'] === undefined) return absent
  try {
    const container = readContainer(value['docker'], variables, notes)
    const refusal = refusalOf(container)
    return refusal === undefined ? container : { key, reason: 'docker-policy', message: refusal }
  } catch (error) {
    if (error instanceof UnsetVariable) return { unusable: error.message }
    throw error
  }
}

function servicesOf ({ services }: JsonObject, notes: string[]): Service[] {
  if (services === undefined) return []
  if (!Array.isArray(services)) throw new WrongType('services must be a list of tables')
  return services.slice(0, limits.entries).map((item: unknown, i): Service => {
    if (!isObject(item)) throw new WrongType(`services[${i}] must be a table`)
    const path = `services[${i}].`
    noteUnknown(item, ['name', 'description', 'optional', 'default_port'], path, notes)
    const name = optionalText(item, 'name', path, notes)
    if (name === undefined) throw new WrongType(`${path}name is missing`)
    const description = optionalText(item, 'description', path, notes)
    const port = item['default_port']
    return {
      name,
      ...(description !== undefined && { description }),
      optional: optionalFlag(item, 'optional', path, notes) ?? false,
      ...(typeof port === 'number' && { default_port: port })
    }
  })
}

/** What a source names: a folder, an image, or something that can't be loaded in place. */
export function sourceKind (source: string): 'path' | 'image' | 'remote' | 'installed' {
  if (/^(\.\.?\/|\/)/.test(source) || source === '.' || source === '..') return 'path'
  if (source.startsWith('docker:')) return 'image'
  return /^(github:|gitlab:|bitbucket:|git@|https?:\/\/)/.test(source) ? 'remote' : 'installed'
}
