import type { Storage } from '../contracts/storage.ts'
import { isAlive } from '../lib/process-identity.ts'

/** The URLs of the server that holds the role `serve` on a storage; none where no server runs. */
export async function serverOf (storage: Storage): Promise<readonly string[]> {
  const holder = await storage.holder('serve')
  return holder === undefined || !isAlive(holder.owner) ? [] : holder.note.split(' ').filter(url => url !== '')
}
