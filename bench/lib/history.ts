import type { StoredExecution } from '../../kernel/index.ts'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import type { Home } from '../../test/support/program.ts'

const perCommit = 2_000

/**
 * Fills the history in a server's data directory before it starts.
 * @param recordOf makes the record with a number from 0
 */
export async function fillHistory (
  home: Pick<Home, 'data_dir'>, size: number, recordOf: (i: number) => StoredExecution
): Promise<void> {
  const { service: storage, close } = await openPlugin(lmdb, { data_dir: home.data_dir })
  try {
    for (let i = 0; i < size; i++) {
      storage.save(recordOf(i))
      if ((i + 1) % perCommit === 0) await storage.commit()
    }
    await storage.commit()
  } finally {
    await close()
  }
}
