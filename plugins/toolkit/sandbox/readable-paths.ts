import { readdirSync, statSync, type Dirent } from 'node:fs'
import { join } from 'node:path'

/** The paths that together hold all files except the secret ones. */
export interface ReadablePaths {
  /** Files and folders without a secret in them. */
  readonly paths: readonly string[]
  /**
   * Folders with a secret in them, and the time of their last change: what is added to one must be added to `paths`.
   */
  readonly divided: ReadonlyMap<string, number>
}

/**
 * Finds the paths below a folder that hold no secret. A rule of the system allows a folder with all that is in it, so a
 * folder with a secret is divided: each of its other entries is allowed. What is made later is not allowed by itself.
 * Symbolic links are left out: a rule for a link would allow what it points to.
 */
export function readablePaths (root: string, secrets: readonly string[]): ReadablePaths {
  const hidden = new Set(secrets)
  const paths: string[] = []
  const divided = new Map<string, number>()
  const visit = (path: string): void => {
    if (hidden.has(path)) return
    const inside = path === '/' ? path : `${path}/`
    if (!secrets.some(secret => secret.startsWith(inside))) {
      paths.push(path)
      return
    }
    divided.set(path, changedAt(path))
    for (const entry of entriesOf(path)) if (!entry.isSymbolicLink()) visit(join(path, entry.name))
  }
  visit(root)
  return { paths, divided }
}

/** Whether none of the divided folders has changed. */
export function isCurrent ({ divided }: ReadablePaths): boolean {
  for (const [path, at] of divided) if (changedAt(path) !== at) return false
  return true
}

function changedAt (path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function entriesOf (path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return [] // what the server can't list, a command can't either
  }
}
