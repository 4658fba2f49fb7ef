import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbsent } from '../../../kernel/index.ts'
import { blockOf } from './positions.ts'

/** The files of words, beside the history's file. They can be deleted at any time. */
export function wordsFolder (file: string): string {
  return `${file}-words`
}

/** How long a temporary file may be there before a process that was killed must have left it, in milliseconds. */
const temporary_ms = 600_000
const blockName = /^(\d{1,15})\.words$/

export function blockPath (folder: string, block: number): string {
  return join(folder, `${block}.words`)
}

/** Makes the folder, and removes what processes that were killed have left in it. */
export function prepareFolder (folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder).filter(name => name.endsWith('.tmp'))) {
    const path = join(folder, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && Date.now() - stat.mtimeMs > temporary_ms) rmSync(path, { force: true })
  }
}

/** Removes the words of blocks all of whose executions were pruned. @param first the oldest execution that is there */
export async function removePruned (folder: string, first: number): Promise<void> {
  let names
  try {
    names = await readdir(folder)
  } catch (error) {
    if (isAbsent(error)) return // nobody has searched
    throw error
  }
  for (const name of names) {
    const block = blockName.exec(name)?.[1]
    if (block !== undefined && Number(block) < blockOf(first)) await rm(join(folder, name), { force: true })
  }
}
