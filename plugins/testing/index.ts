/**
 * What tests of plugins import, as `skillet/testing`: a suite for each slot, for any test runner, and what opens a
 * plugin without a server.
 */

// The suites.
export { testEndpoint, type EndpointHarness } from './endpoint.ts'
export { testExecutor, type Call, type ExecutorHarness, type OpenedExecutor } from './executor.ts'
export { searchable, shelf, testSearch, type SearchHarness } from './search.ts'
export { testSkillSource, type SkillSourceHarness } from './skill-source.ts'
export { testStorage, type StorageHarness } from './storage.ts'
export type { OpenBeside, OpenStorage } from './storage-define.ts'
export { testTransport, type Answer, type Client, type TransportHarness } from './transport.ts'

// Test runners.
export type { ErrorPattern, TestContext } from './context.ts'
export { forNode } from './node.ts'
export { forTap, type TapTest } from './tap.ts'

// What tests beside the suites need.
export { makeExecution, makeStored } from './executions.ts'
export { openKernel, type TestKernel } from './kernel.ts'
export { openPlugin, type Opened, type OpenOptions } from './open-plugin.ts'
export { callOf, skillOf } from './skill.ts'
export { until } from './until.ts'
