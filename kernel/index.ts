/** The public exports of the kernel: plugins, and the entry of the program, may import only from this file. */

// lib
export { abortable } from './lib/abortable.ts'
export { readRange, type ByteRange } from './lib/byte-range.ts'
export { abortSignalOf, Canceller, type CancelSignal } from './lib/cancel.ts'
export { coerceText } from './lib/coerce.ts'
export { decodeCursor, encodeCursor } from './lib/cursor.ts'
export { endThread, letThreadsEnd } from './lib/end-threads.ts'
export { readEnvFile } from './lib/env-file.ts'
export {
  ERRORS, messageOf, SkilletError, type ErrorCode, type ErrorDetails, type ErrorEnvelope, type ErrorKind
} from './lib/errors.ts'
export { changeFile, hasCode, isAbsent, replaceFile } from './lib/file.ts'
export { newExecutionId } from './lib/id.ts'
export { decodeJson, isObject } from './lib/json.ts'
export { List, type Listed } from './lib/list.ts'
export { silentLogger, type Logger } from './lib/log.ts'
export { didYouMean, nearest } from './lib/nearest.ts'
export { isAlive, thisProcess, type ProcessIdentity } from './lib/process-identity.ts'
export { pauses } from './lib/pauses.ts'
export { Scope } from './lib/scope.ts'
export { Selections } from './lib/select/selections.ts'
export { isoTime, unixTime } from './lib/time.ts'
export { readVersion, type Version } from './lib/version.ts'
export { within } from './lib/within.ts'
export { hasAll, type SoughtWord } from './lib/words.ts'

// contracts
export {
  ACCESS_PATTERN, compileAllows, SCOPES, usualScopes, type Access, type AccessScope, type Allows
} from './contracts/access.ts'
export { approvalTexts, pendingApproval, type Approval, type Decision } from './contracts/approval.ts'
export { Bus, type Events, type LogLevel } from './contracts/bus.ts'
export { Unanswered, type Question, type QuestionHandler } from './contracts/ask.ts'
export type { Call } from './contracts/call.ts'
export { outputBytesStop, type Config } from './contracts/config.ts'
export type { Endpoint, EndpointCall, EndpointRoute } from './contracts/endpoint.ts'
export type { Executor, Outcome, SecretsOf, Task, TaskObserver } from './contracts/executor.ts'
export type { Gateway } from './contracts/gateway.ts'
export { defaultKeyName, KEY_NAME, KeyTable, type KeySettings } from './contracts/key-settings.ts'
export type { Backup, CareContext, HistoryCare, LostExecutions, Repair, Restored } from './contracts/history-care.ts'
export { LIVE_EVENTS, type LiveEvent, type LiveEvents, type LiveReader } from './contracts/live.ts'
export {
  INSTANCE_NAME, instanceName, isAskedFor, SKILL_NAME, splitInstance, splitTool, TOOL_NAME
} from './contracts/names.ts'
export type { Callable, Operation } from './contracts/operation.ts'
export { collectedBytesMax, outputOf, type Output } from './contracts/output.ts'
export { textOf, type Outputs, type StoredOutput } from './contracts/outputs.ts'
export {
  definePlugin, PLUGIN_NAME, pluginApi, SLOTS, type AnyPlugin, type EndpointContext, type ExamineContext, type Finding,
  type Plugin, type PluginContext,
  type SearchContext, type Slot, type Slots, type TransportContext
} from './contracts/plugin.ts'
export * as schemas from './contracts/schemas.ts'
export {
  EXECUTION_STATUSES, FROM_CLIENT, type Confinement, type Execution, type ExecutionStatus, type ExecutionSummary,
  type Isolation, type JsonObject, type ParameterDescriptor, type SearchResult, type Skill, type Tool
} from './contracts/schemas.ts'
export type { PluginStatus, QuarantinedSkill, SearchState, SkillWarning } from './contracts/status.ts'
export type { Search, SearchAnswer, SearchOptions } from './contracts/search.ts'
export {
  defineSection, pathFormats, textList, type PathFormat, type Section, type SectionOf
} from './contracts/section.ts'
export type { Services, SkillCatalog } from './contracts/services.ts'
export type { LoadedSkills, SkillSource } from './contracts/skill-source.ts'
export {
  Permissions, runtimeOf, VARIABLE_NAME, WHEN_FULL, type CommandPart, type CommandPiece, type CommandTemplate,
  type ConcurrencyRule, type RetryPolicy, type ScriptNeeds, type SkillDefinition, type SkillInstance,
  type ToolDefinition
} from './contracts/skill.ts'
export type { RunStatistics, Statistics } from './contracts/statistics.ts'
export {
  cacheLimits, filteredTotalMax, keyLimits, type Cache, type ExecutionFilter, type ExecutionPage, type ExecutionQuery,
  type ExecutionVisitor, type FoundPage, type KeyedExecution, type Lease, type Storage, type StoredExecution,
  type UnfinishedExecution
} from './contracts/storage.ts'
export type { ToolAnnotations } from './contracts/tool-annotations.ts'
export type { Transport } from './contracts/transport.ts'

// schema
export {
  ManifestFrame, ManifestTool, McpServer, PARAMETER_NAME, ScriptFile, ScriptFrame, ScriptTools, toolsMax
} from './schema/manifest.ts'
export { parametersOfKey } from './schema/concurrency-key.ts'
export { compileInputSchema } from './schema/parameters.ts'
export { compileCheck, patternMax, type Check } from './schema/validation.ts'

// secrets
export { secretLengthMin } from './secrets/redact.ts'
export { isServersOwn, SecretFile, secretBytesMax, type Secrets } from './secrets/secrets.ts'

// skills
export { faultOfInstances, instanceNames } from './skills/instances.ts'
export { agentParameters, oneLine, parameterLines } from './skills/parameter-lines.ts'
export type { ToolContext } from './skill.ts'

// executions
export { executionWords } from './executions/execution-words.ts'
export { pendingLimits, recordBytes, refuseTooManyPending } from './executions/pending.ts'
export { resultOf } from './executions/record.ts'
export { isFinal } from './executions/transitions.ts'

// operations
export { executionFilter, type FilterInput } from './operations/execution-filters.ts'
export { accessOf, hashKey, newKey, parseKeys, readKeys } from './operations/keys.ts'
export { soughtIn } from './operations/searched-text.ts'
export { queryMax, SearchMode, withInstances } from './operations/search-skills.ts'
export {
  approveExecution, cancelExecution, cancelExecutions, denyExecution, execute, getExecution, getSkill, getStatistics,
  health, listApprovals, listExecutions, listSkillFiles, listSkills, readSkillFile, retryExecution, searchSkills,
  version
} from './operations/table.ts'
export { RunOptions, waitMax_s } from './operations/run-options.ts'
export { startRun, storeRun } from './operations/stored-runs.ts'
export { waitingReason } from './operations/waiting-reason.ts'

// boot
export { configFile, configHome, dataHome, fromHome, type ConfigSources } from './boot/config-files.ts'
export type { Origin } from './boot/config-layers.ts'
export { completeConfig, explainConfig, furtherPlugins, loadConfig, type ExplainedConfig } from './boot/config-load.ts'
export { configSchema, sectionsOf, type ConfigSchema, type Setting } from './boot/config-schema.ts'
export { findDirectoryFaults, historyFileName, secureDataDirectory } from './boot/data-directory.ts'
export { createKernel, type Kernel, type KernelOptions } from './boot/kernel.ts'
export { loadPlugins } from './boot/plugin-load.ts'
export { pluginOptions } from './boot/plugin-options.ts'
