import memory from '../../plugins/storage-memory/index.ts'
import { testStorage } from '../conformance/storage.ts'
import { openPlugin } from '../support/open-plugin.ts'

testStorage('storage-memory', storage => openPlugin(memory, { config: { storage: storage ?? {} } }))
