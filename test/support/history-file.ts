import { join } from 'node:path'
import { openEnvironment, type Environment } from '../../plugins/storage-lmdb/environment.ts'
import { claimFormat } from '../../plugins/storage-lmdb/format.ts'
import { fileName } from '../../plugins/storage-lmdb/index.ts'

/** Opens the LMDB store's file below the plugin, to look at what is in it. */
export function openHistoryFile (data_dir: string): Promise<Environment> {
  const file = join(data_dir, fileName)
  return openEnvironment(file, (meta, transact) => claimFormat(file, meta, transact))
}
