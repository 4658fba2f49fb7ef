import { definePlugin } from '../../kernel/index.ts'
import { MemoryStorage } from './memory-storage.ts'

/** How often the sweep looks for executions that are too old, in milliseconds. */
const sweep_ms = 60_000

/** Keeps executions in the memory of this process, for tests and for servers that need no history after they end. */
export default definePlugin({
  name: 'storage-memory',
  slot: 'storage',
  setup ({ config, scope }) {
    const { history_executions_max, history_days_max, history_bytes_max, idempotency_keys_max } = config.storage
    const storage = new MemoryStorage(
      history_executions_max, history_days_max, history_bytes_max, idempotency_keys_max
    )
    const sweep = setInterval(() => { storage.prune() }, sweep_ms).unref()
    scope.defer(() => { clearInterval(sweep) })
    return storage
  }
})
