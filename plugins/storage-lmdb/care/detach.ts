import { silentLogger, type ProcessIdentity } from '../../../kernel/index.ts'
import { openEnvironment } from '../environment.ts'
import { claimFormat, migrate } from '../format.ts'
import { History } from '../history.ts'
import { noLimits, Pruner } from '../prune.ts'

/** An owner that is no process, so that the next start ends its executions as `interrupted`. */
const nobody: ProcessIdentity = { pid: 0, started: 'restored' }

/**
 * Makes a copy of a history independent of the processes that wrote the original, which may still run beside it: the
 * copy has no server, and no process that will finish its unfinished executions.
 */
export async function detach (file: string): Promise<void> {
  const env = await openEnvironment(file, (meta, transact) => claimFormat(file, meta, transact))
  try {
    await migrate(env)
    const history = new History(env, new Pruner(env, noLimits), silentLogger)
    for (const { id } of await history.unfinished()) {
      const stored = history.get(id)
      if (stored !== undefined) await env.transact(() => history.put([{ ...stored, owner: nobody }]))
    }
    await env.transact(() => {
      for (const table of [env.roles, env.cancels]) {
        for (const key of Array.from(table.getKeys({}))) table.removeSync(key)
      }
    })
  } finally {
    await env.close()
  }
}
