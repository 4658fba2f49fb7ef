import type { Environment } from './environment.ts'

/** Changes a file to the next format, within one transaction; the first migration changes format 1 to 2. */
type Migration = (env: Environment) => void
const migrations: readonly Migration[] = [
  // Format 2 writes rows without field names. Rows of format 1 can still be read (rows.ts), and disappear when they are
  // pruned.
  () => {},
  // Format 3 keeps unfinished executions below the first of the dense numbers, and counts them in the bounds. Format 2
  // had no such executions.
  () => {},
  // Format 4 keeps durations in the columns. Chunks of format 3 can still be read: their durations are in the rows
  // (columns.ts). They become chunks of format 4 when they are changed, or disappear when they are pruned.
  () => {},
  // Format 5 has executions that wait for an approval: a program that knows only format 4 would take their status for
  // damage.
  () => {}
]

/** The format that this program writes. */
export const formatVersion = 1 + migrations.length

/**
 * Marks a new file with its format before any other data is written to it.
 * @throws Error naming the file when it is not a history, or has a newer format
 */
export async function claimFormat (
  file: string,
  meta: Environment['meta'],
  transact: Environment['transact']
): Promise<void> {
  if (meta.get('format') === undefined) {
    await transact(() => {
      if (meta.get('format') !== undefined) return // another process came first
      for (const key of meta.getKeys({ limit: 1 })) {
        throw new Error(`${file} is not a history of executions: it has an entry "${String(key)}" and no format`)
      }
      meta.putSync('format', String(formatVersion))
    })
  }
  const format = formatOf(meta)
  if (!Number.isSafeInteger(format) || format < 1) {
    throw new Error(`${file} is damaged: its format is "${meta.get('format')}"; move it away to start with an empty history`)
  }
  if (format > formatVersion) {
    throw new Error(`${file} has format ${format}, made by a newer version; this one knows formats up to ${formatVersion}. Use the newer version, or another data directory`)
  }
}

/** Migrates an older file to the present format, with a transaction for each step. */
export async function migrate (env: Environment): Promise<void> {
  for (let step = formatOf(env.meta); step < formatVersion; step++) {
    await env.transact(() => {
      const format = formatOf(env.meta) // another process may migrate at the same time
      if (format >= formatVersion) return
      migrations[format - 1]?.(env)
      env.meta.putSync('format', String(format + 1))
    })
  }
}

function formatOf (meta: Environment['meta']): number {
  return Number(meta.get('format'))
}
