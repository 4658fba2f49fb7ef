import type { Storage } from '../contracts/storage.ts'
import { isAlive, thisProcess } from '../lib/process-identity.ts'

/**
 * Claims a role on the data directory, or renews it with a new note for other processes.
 * @returns a function that releases the role
 */
export async function claim (
  storage: Storage, role: string, data_dir: string, note: string
): Promise<() => Promise<void>> {
  const owner = thisProcess()
  const holder = await storage.claim(role, { owner, note }, isAlive)
  if (holder !== undefined) {
    const place = holder.note === '' ? '' : ` at ${holder.note}`
    const remedy = 'stop it first, or give this one another --data-dir'
    throw new Error(`process ${holder.owner.pid} already serves the data directory ${data_dir}${place}; ${remedy}`)
  }
  return () => storage.release(role, owner)
}
