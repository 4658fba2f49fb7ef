import memory from '../../plugins/storage-memory/index.ts'
import { testStorage } from '../conformance/storage.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

// Nothing but the process itself can use its memory: a further writer uses the same store.
testStorage('storage-memory', storage => openPlugin(memory, { config: { storage: storage ?? {} } }), async first =>
  ({ ...first, close: async () => {} }))
