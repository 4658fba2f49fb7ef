import type { Environment } from './environment.ts'

/** What makes the next format of the one before, within one transaction; the first makes 2 of 1. */
type Migration = (env: Environment) => void
const migrations: readonly Migration[] = [
  // 2 writes rows without names of fields; those of 1 are read as they are (rows.ts), and go when they are pruned.
  () => {},
  // 3 keeps unfinished executions below the first of the dense numbers, and counts them in the bounds: in 2 there were
  // none.
  () => {}
]

/** The format this program writes. */
export const formatVersion = 1 + migrations.length

/**
 * Marks a new file with its format before anything else is written to it.
 * @throws Error naming the file when it is not a history, or of a newer format
 */
export async function claimFormat (file: string, meta: Environment['meta'], transact: Environment['transact']): Promise<void> {
  if (meta.get('format') === undefined) {
    await transact(() => {
      if (meta.get('format') !== undefined) return // another process came first
      for (const key of meta.getKeys({ limit: 1 })) throw new Error(`${file} is not a history of executions: it has an entry "${String(key)}" and no format`)
      meta.putSync('format', String(formatVersion))
    })
  }
  const format = formatOf(meta)
  if (!Number.isSafeInteger(format) || format < 1) throw new Error(`${file} is damaged: its format is "${meta.get('format')}"; move it away to start with an empty history`)
  if (format > formatVersion) {
    throw new Error(`${file} has format ${format}, made by a newer version; this one knows formats up to ${formatVersion}. Use the newer version, or another data directory`)
  }
}

/** Brings an older file to the present format, a transaction for each step. */
export async function migrate (env: Environment): Promise<void> {
  for (let step = formatOf(env.meta); step < formatVersion; step++) {
    await env.transact(() => {
      const format = formatOf(env.meta) // another process may migrate too
      if (format >= formatVersion) return
      migrations[format - 1]?.(env)
      env.meta.putSync('format', String(format + 1))
    })
  }
}

function formatOf (meta: Environment['meta']): number {
  return Number(meta.get('format'))
}
