/**
 * The module that third-party plugins import as `skillet/plugin`: the contracts of all slots, the errors, and a few
 * helper functions for plugins. It belongs to the running kernel and is not a copy of it.
 */

// The contracts: only types.
export type * from './contracts/access.ts'
export type * from './contracts/bus.ts'
export type * from './contracts/call.ts'
export type * from './contracts/config.ts'
export type * from './contracts/endpoint.ts'
export type * from './contracts/executor.ts'
export type * from './contracts/gateway.ts'
export type * from './contracts/operation.ts'
export type * from './contracts/output.ts'
export type * from './contracts/plugin.ts'
export type * from './contracts/schemas.ts'
export type * from './contracts/search.ts'
export type * from './contracts/section.ts'
export type * from './contracts/services.ts'
export type * from './contracts/skill-source.ts'
export type * from './contracts/skill.ts'
export type * from './contracts/storage.ts'
export type * from './contracts/transport.ts'
export type {
  CancelSignal, ErrorCode, ErrorDetails, ErrorEnvelope, ErrorKind, Logger, ProcessIdentity, SoughtWord, Version
} from './index.ts'

// For every plugin. `Type` declares options.
export {
  definePlugin, defineSection, ERRORS, isObject, isoTime, messageOf, pluginApi, Scope, SkilletError, within
} from './index.ts'
export { Type, type Static } from 'typebox'

// For executors and sources of skills.
export {
  abortSignalOf, collectedBytesMax, compileInputSchema, INSTANCE_NAME, instanceName, outputBytesStop, outputOf,
  SKILL_NAME, splitInstance, splitTool, TOOL_NAME
} from './index.ts'

// For storages.
export {
  cacheLimits, decodeCursor, encodeCursor, executionWords, filteredTotalMax, hasAll, recordBytes, refuseTooManyPending
} from './index.ts'

// For transports and endpoints.
export { decodeJson } from './index.ts'
