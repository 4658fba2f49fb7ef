import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin } from '../../kernel/index.ts'
import { checkFile } from './check-file.ts'
import { openEnvironment } from './environment.ts'
import { claimFormat, migrate } from './format.ts'
import { History } from './history.ts'
import { LmdbStorage } from './lmdb-storage.ts'
import { startSweep } from './sweep.ts'
import { Writer } from './writer.ts'

/** The file in the data directory; `history.mdb-lock` stands beside it. */
export const fileName = 'history.mdb'

/** Keeps executions on disk, in an LMDB file that several processes may use at once. */
export default definePlugin({
  name: 'storage-lmdb',
  slot: 'storage',
  async setup ({ config, scope, log, data_dir, health }) {
    await mkdir(data_dir, { recursive: true, mode: 0o700 })
    const file = join(data_dir, fileName)
    await checkFile(file)
    const env = await openEnvironment(file, (meta, transact) => claimFormat(file, meta, transact))
    scope.defer(() => env.close())
    await migrate(env)
    const { history_executions_max, history_days_max } = config.storage
    const history = new History(env, { executions_max: history_executions_max, days_max: history_days_max }, log)
    history.bounds() // a file that can't be read is refused now, not at the first request
    const writer = new Writer(env, history, health, log)
    scope.defer(() => writer.close())
    scope.defer(startSweep(env, history, log))
    return new LmdbStorage(env, history, writer)
  }
})
