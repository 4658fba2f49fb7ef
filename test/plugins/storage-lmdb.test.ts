import lmdb from '../../plugins/storage-lmdb/index.ts'
import { testStorage } from '../conformance/storage.ts'
import { openPlugin } from '../support/open-plugin.ts'

testStorage('storage-lmdb', storage => openPlugin(lmdb, { config: { storage: storage ?? {} } }))
