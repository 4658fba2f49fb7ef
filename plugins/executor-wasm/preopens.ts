import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fromHome, type Task } from '../../kernel/index.ts'
import type { Preopen } from '../toolkit/wasm/host/files.ts'

/**
 * The folders that a run is given: those that its skill declares, and no others. A command knows each by the path as it
 * is declared; a relative one lies in the folder of the skill. A folder that may be written to may also be read.
 * @returns why it can't be run, where one of them is no folder
 */
export function preopensOf ({ skill, parameters }: Task): { found: Preopen[] } | { fault: string } {
  const { read = [], write } = skill.permissions
  const found = new Map<string, Preopen>()
  for (const [writable, list] of [[false, read], [true, write]] as const) {
    for (const entry of list) {
      const path = pathOf(entry, parameters)
      if (path === undefined) continue
      const guest = path === '~' || path.startsWith('~/') ? fromHome(path) : path
      const host = folderAt(resolve(skill.directory, guest))
      if (host === undefined) {
        return { fault: `the folder "${path}" of permissions.${writable ? 'write' : 'read'} is missing or no folder` }
      }
      found.set(guest, { guest, host, writable })
    }
  }
  return { found: [...found.values()] }
}

/** A path of a permission: a placeholder is the value of a parameter, where it was given. */
function pathOf (entry: string, parameters: Task['parameters']): string | undefined {
  const name = /^\{\{(\w+)\}\}$/.exec(entry)?.[1]
  if (name === undefined) return entry
  const value = Object.hasOwn(parameters, name) ? parameters[name] : undefined
  return typeof value === 'string' && value !== '' && !value.includes('\0') ? value : undefined
}

/** The path of a folder without symbolic links; undefined where there is none. */
function folderAt (path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? realpathSync(path) : undefined
  } catch {
    return undefined
  }
}
