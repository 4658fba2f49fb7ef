import { access, constants, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import {
  definePlugin, findDirectoryFaults, historyFileName, isAbsent, messageOf, secureDataDirectory, type Finding
} from '../../kernel/index.ts'
import { care } from './care/care.ts'
import { Session } from './care/session.ts'
import { canCloseOnExec } from './close-on-exec.ts'
import { claimFormat, formatVersion, migrate } from './format.ts'
import { History } from './history.ts'
import { Keys } from './keys.ts'
import { LmdbStorage } from './lmdb-storage.ts'
import { Pruner } from './prune.ts'
import { Sweep } from './sweep.ts'
import { TextSearch } from './text/text-search.ts'
import { Writer } from './writer.ts'

/** The name of the file in the data directory; `history.mdb-lock` is beside it. */
export const fileName = historyFileName

/**
 * Keeps executions on disk, in an LMDB file that several processes may use at once. LMDB is loaded at the start, while
 * other plugins are set up.
 */
export default definePlugin({
  name: 'storage-lmdb',
  slot: 'storage',
  async setup ({ config, scope, log, data_dir, health, signal }) {
    secureDataDirectory(data_dir, log)
    const file = join(data_dir, fileName)
    const session = await Session.begin(file, log, signal)
    scope.defer(() => session.end())
    const { openEnvironment } = await import('./environment.ts')
    const env = await openEnvironment(file, (meta, transact) => claimFormat(file, meta, transact))
    scope.defer(async () => {
      await env.close()
      await session.closed()
    })
    await migrate(env)
    const { history_executions_max, history_days_max, history_bytes_max, idempotency_keys_max } = config.storage
    const limits = { executions_max: history_executions_max, days_max: history_days_max, bytes_max: history_bytes_max }
    const pruner = new Pruner(env, limits)
    const history = new History(env, pruner, log)
    history.bounds() // an unreadable file fails now, not at the first request
    const keys = new Keys(env, idempotency_keys_max)
    const sweep = new Sweep(env, pruner, keys, history_bytes_max, log)
    const writer = new Writer(env, history, sweep, health, log)
    scope.defer(() => writer.close())
    sweep.start()
    scope.defer(() => sweep.close())
    const texts = new TextSearch(file, () => history.bounds().first, log)
    scope.defer(() => texts.close())
    return new LmdbStorage(env, history, writer, keys, texts)
  },
  examine: ({ data_dir }) => examine(data_dir),
  care
})

/** The free space below which a problem is reported, in bytes. */
const room_bytes_min = 64 * 1_048_576

/** Whether the history can be stored, and its size. `setup` reports a file that can't be read. */
async function examine (data_dir: string): Promise<Finding[]> {
  const about = 'history'
  const file = join(data_dir, fileName)
  try {
    await access(data_dir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    if (isAbsent(error)) {
      return [{ level: 'ok', about, text: `${data_dir} is not there yet; it is made when it is needed` }]
    }
    return [{
      level: 'problem',
      about,
      text: `${data_dir} can't be written to: ${messageOf(error)}`,
      remedy: 'make it yours, or name another with --data-dir'
    }]
  }
  const faults = findDirectoryFaults(data_dir)
  if (faults.length > 0) return faults.map(({ text, remedy }) => ({ level: 'problem', about, text, remedy }))
  const { bavail, bsize } = await statfs(data_dir)
  const size = await stat(file)
    .then(({ size }) => `format ${formatVersion}, ${mebibytes(size)} MiB`, () => 'still empty')
  const room = `${mebibytes(bavail * bsize)} MiB are free`
  if (bavail * bsize < room_bytes_min) {
    return [{ level: 'problem', about, text: `${file}: ${size}; only ${room}`, remedy: 'make room on that disk' }]
  }
  const passedOn: Finding = {
    level: 'note',
    about,
    text: 'programs that script tools start are passed on the descriptor of the history\'s file: what prevents that is not compiled',
    remedy: 'install a C compiler and build again: npm run build'
  }
  return [{ level: 'ok', about, text: `${file}: ${size}; ${room}` }, ...(canCloseOnExec() ? [] : [passedOn])]
}

function mebibytes (bytes: number): string {
  const mib = bytes / 1_048_576
  return mib < 10 ? mib.toFixed(1) : String(Math.round(mib))
}
