/** What tests of plugins import, as `skillet/testing`: a suite for each slot, for any test runner, and what opens a plugin without a server. */

export type { ErrorPattern, TestContext } from './context.ts'
export { testExecutor, type Call, type ExecutorHarness, type OpenedExecutor } from './executor.ts'
export { makeExecution, makeStored } from './executions.ts'
export { forNode } from './node.ts'
export { openPlugin, type Opened, type OpenOptions } from './open-plugin.ts'
export { searchable, shelf, testSearch, type SearchHarness } from './search.ts'
export { testStorage, type StorageHarness } from './storage.ts'
export type { OpenBeside, OpenStorage } from './storage-define.ts'
export { forTap, type TapTest } from './tap.ts'
export { until } from './until.ts'
