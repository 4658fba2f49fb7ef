/** The kernel's public surface: what plugins, and the program's entry, may import. */
export { ACCESS_PATTERN, compileAllows, SCOPES, type Access, type AccessScope } from './access.ts'
export { abortSignalOf, Canceller, type CancelSignal } from './cancel.ts'
export { Bus, type Events, type LogLevel } from './bus.ts'
export { expandCommand, parseCommand, type Command, type CommandTemplate } from './command.ts'
export { coerceText } from './coerce.ts'
export { Config, outputBytesStop, processesOf, threadsOf } from './config.ts'
export { completeConfig, configFile, configHome, dataHome, loadConfig, settings, type ConfigSources, type Setting } from './config-load.ts'
export {
  cacheLimits, filteredTotalMax, type AnyPlugin, type Cache, type Claim, type ExecutionPage, type ExecutionQuery, type Executor, type LoadedSkills, type Outcome,
  type Output, type Plugin, type PluginContext, type Search, type SearchAnswer, type SearchContext, type SearchOptions, type SkillSource, type Slot, type Slots, type Storage,
  type StoredExecution, type Task, type TaskObserver, type Transport, type TransportContext
} from './contracts.ts'
export { ERRORS, messageOf, SkilletError, type ErrorCode, type ErrorDetails, type ErrorEnvelope, type ErrorKind } from './errors.ts'
export { changeFile, hasCode, isAbsent, replaceFile } from './file.ts'
export type { Gateway } from './gateway.ts'
export { decodeJson, isObject, jsonDepthMax } from './json.ts'
export { accessOf, defaultKeyName, hashKey, KEY_NAME, KeySettings, newKey, parseKeys, readKeys } from './keys.ts'
export { createKernel, type Kernel, type KernelOptions } from './kernel.ts'
export { List, type Listed } from './list.ts'
export { silentLogger, type Logger } from './log.ts'
export { ManifestFile, PARAMETER_NAME, Permissions, ScriptFile, type SkillDefinition, type ToolDefinition } from './manifest.ts'
export { decodeCursor, encodeCursor } from './cursor.ts'
export { didYouMean, nearest } from './nearest.ts'
export type { Call, Operation, Services } from './operation.ts'
export { cancelExecution, execute, getExecution, getSkill, health, listExecutions, listSkills, searchSkills, version } from './operations/index.ts'
export { isAlive, thisProcess, type Owner } from './owner.ts'
export { outputOf } from './output.ts'
export { compileInputSchema } from './parameters.ts'
export { definePlugin } from './plugin.ts'
export { loadPlugins } from './plugin-load.ts'
export * as schemas from './schemas.ts'
export {
  EXECUTION_STATUSES, SKILL_NAME, TOOL_NAME, type Execution, type ExecutionStatus, type ExecutionSummary, type Isolation, type JsonObject,
  type ParameterDescriptor, type PluginStatus, type QuarantinedSkill, type SearchResult, type SearchState, type Skill, type Tool
} from './schemas.ts'
export { Scope } from './scope.ts'
export { SECRET_NAME, SecretFile, isServersOwn, secretBytesMax, type Secrets } from './secrets.ts'
export { createRedactor, secretLengthMin, type Redactor } from './redact.ts'
export type { ToolContext } from './skill.ts'
export { isFinal, nextStatus } from './transitions.ts'
export { compileCheck, type Check } from './validation.ts'
export { readVersion, type Version } from './version.ts'
export { within } from './within.ts'
