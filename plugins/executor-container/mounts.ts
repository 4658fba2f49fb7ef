import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { fromHome, type Task } from '../../kernel/index.ts'
import { real, type RuleBook } from '../toolkit/sandbox/rules.ts'
import { pathOf } from '../toolkit/sandbox/writable-paths.ts'
import { EngineFault } from './engine-fault.ts'

/** A file or folder of this machine in a container. */
export interface Mount {
  /** Its real path on this machine. */
  from: string
  /** Its path in the container. */
  at: string
  access: 'read' | 'write'
}

/** Folders of the machine that hold the sockets of engines and the state of the system. */
const closed = ['/proc', '/sys', '/dev', '/run']

/**
 * What the permissions of a skill open of this machine, each under its own path. What does not exist is left out,
 * unless the caller named it.
 * @throws EngineFault when one of them is secret, or part of the system
 */
export function mountsOf (book: RuleBook, { skill, parameters }: Pick<Task, 'skill' | 'parameters'>): Mount[] {
  const mounts = new Map<string, Mount>()
  const { read = [], write } = skill.permissions
  for (const [access, entries] of [['read', read], ['write', write]] as const) {
    for (const entry of entries) {
      const path = pathOf(entry, parameters)
      const isOfCaller = path !== entry
      const mount = path === undefined ? undefined : mountOf(skill.name, path, access, isOfCaller)
      if (mount === undefined) continue
      refuseSecrets(book, skill.name, mount, isOfCaller)
      mounts.set(mount.at, mount) // what may be written to may be read
    }
  }
  return [...mounts.values()]
}

function mountOf (skill: string, path: string, access: Mount['access'], isOfCaller: boolean): Mount | undefined {
  const named = isOfCaller ? path : path === '~' ? homedir() : fromHome(path)
  if (!isAbsolute(named)) {
    throw new EngineFault(`${skill} runs in a container and takes absolute paths only, not ${JSON.stringify(path)}`)
  }
  const at = resolve(named)
  if (/\p{Cc}/u.test(at)) throw new EngineFault(`${skill} takes no path with control characters`)
  const [from] = real(at)
  if (from === undefined) {
    if (isOfCaller) throw new EngineFault(`${at} does not exist: what a container uses must be there before it starts`)
    return undefined
  }
  const isClosed = from === '/' || at === '/' || closed.some(folder => isIn(from, folder) || isIn(at, folder))
  if (isClosed || statSync(from).isSocket()) {
    throw new EngineFault(`${skill} may not use ${at} in a container: it belongs to the system`)
  }
  return { from, at, access }
}

/**
 * A folder with a secret in it is not mounted. A secret can be read where the skill, not its caller, names it by its
 * own path.
 */
function refuseSecrets (book: RuleBook, skill: string, { from, at, access }: Mount, isOfCaller: boolean): void {
  const secret = access === 'write'
    ? book.secretWithin(from)
    : isOfCaller && book.holds(from) ? from : book.secretsBelow(from)[0]
  if (secret === undefined) return
  const what = secret === from ? 'it is a secret' : `it and ${secret} are one in the other, and that is a secret`
  throw new EngineFault(`${skill} may not use ${at} in a container: ${what}`)
}

function isIn (path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** A mount as the value of the option `--mount`, whose fields are separated by commas. */
export function mountText ({ from, at, access }: Mount): string {
  const fields = ['type=bind', `source=${from}`, `target=${at}`, ...access === 'read' ? ['readonly'] : []]
  return fields.map(field => /[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field).join(',')
}
