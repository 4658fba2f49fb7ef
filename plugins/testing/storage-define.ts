import type { Execution, ExecutionQuery, Storage } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import type { Opened } from './open-plugin.ts'

/** Opens an empty store, with these values in the configuration's section `storage`. */
export type OpenStorage = (section?: Record<string, unknown>) => Promise<Opened<Storage>>
/** Opens a further writer of a store that is open. */
export type OpenBeside = (first: Opened<Storage>) => Promise<Opened<Storage>>

/** Declares a test, which gets a storage of its own. */
export type Define =
  (title: string, test: (t: TestContext, storage: Storage) => Promise<void>, section?: Record<string, unknown>) => void

export const firstPage: ExecutionQuery = { limit: 50, offset: 0 }

/** How `endUnfinished` is called in tests. */
export function interrupt (execution: Execution): Execution {
  return { ...execution, status: 'interrupted' }
}
