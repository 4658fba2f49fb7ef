import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parse } from 'smol-toml'
import { isObject } from '../../../kernel/index.ts'

/** The names of manifests. */
const names = new Set(['.skill-engine.toml', 'manifest.toml'])
/** The largest manifest that is read, in bytes. */
const bytesMax = 524_288
/** The most entries that are shown. */
const rowsMax = 100

/**
 * What the manifests among some files declare, without running anything: an entry a row, with its name, and how it is
 * run and configured, in words. A manifest that can't be read has a row that says so.
 * @param files paths within the folder
 */
export async function manifestRows (folder: string, files: readonly string[]): Promise<[string, string][]> {
  const rows: [string, string][] = []
  for (const file of files.filter(file => names.has(basename(file)))) {
    const path = join(folder, file)
    try {
      if ((await stat(path)).size > bytesMax) throw new Error('it is too large')
      const { skills } = parse(await readFile(path, 'utf8'), { maxDepth: 32 })
      for (const [name, entry] of Object.entries(isObject(skills) ? skills : {})) rows.push([name, inWords(entry)])
    } catch {
      rows.push([file, 'it can\'t be read; skillet doctor will say why'])
    }
  }
  return rows.length > rowsMax ? [...rows.slice(0, rowsMax), [`and ${rows.length - rowsMax} more`, '']] : rows
}

function inWords (entry: unknown): string {
  if (!isObject(entry)) return 'no table'
  const { source, runtime, docker, instances } = entry
  const image = isObject(docker) && typeof docker['image'] === 'string' ? docker['image'] : undefined
  const configured = isObject(instances) ? Object.keys(instances) : []
  return [
    runtime === 'docker' ? `runs docker with the image ${image ?? 'that it does not name'}` : `from ${String(source)}`,
    ...(configured.length === 0 ? [] : [`instances ${configured.join(', ')}`])
  ].join('; ')
}
