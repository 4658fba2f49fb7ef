import { isObject, schemas, TOOL_NAME, WHEN_FULL, type JsonObject } from '../../../kernel/index.ts'
import { operationsMax } from '../../toolkit/openapi/limits.ts'
import type { Exported } from '../reader/exported.ts'
import type { Description, Reply, Request } from '../shared/protocol.ts'

/** The longest text of a description, a fault or a warning, and the longest instructions, in characters. */
const textMax = 65_536
const instructionsMax = 16 * 1_048_576
/** The limit for the files from which a skill is built, and for permissions of one kind. */
const listMax = 10_000
/** The limits for the depth and the amount of the plain data of a skill. */
const depthMax = 100
const valuesMax = 2_000_000

/**
 * Reads a reply of the thread that describes skills. Modules run in that thread, so the value may be anything that can
 * be sent.
 * @returns the reply; undefined when the value is not a valid reply to the request
 */
export function readReply (value: unknown, request: Request): Reply | undefined {
  if (!isObject(value)) return undefined
  const { type, removed, descriptions } = value
  switch (request.type) {
    case 'build': return type === 'built' ? { type } : undefined
    case 'prune': return type === 'pruned' && isCount(removed) ? { type, removed } : undefined
    case 'describe': {
      if (type !== 'described' || !Array.isArray(descriptions) || descriptions.length !== request.folders.length) {
        return undefined
      }
      return isDescriptions(descriptions) ? { type, descriptions } : undefined
    }
  }
}

/** Whether a value is the message with which the thread reports that it has started. */
export function isReady (value: unknown): boolean {
  return isObject(value) && value['type'] === 'ready'
}

function isDescriptions (values: readonly unknown[]): values is Description[] {
  const left = { values: valuesMax }
  return values.every(value => isDescription(value) && isPlain(value, depthMax, left))
}

function isDescription (value: unknown): value is Description {
  if (!isObject(value) || typeof value['ran_code'] !== 'boolean') return false
  const { fault, skill, broken, warnings, outside, awaiting } = value
  if (awaiting !== undefined) return isObject(awaiting) && isAwaiting(awaiting)
  if (fault !== undefined) {
    return isObject(fault) && isText(fault['name']) && isText(fault['path']) && isText(fault['error'])
      && (fault['outside'] === undefined || isTexts(fault['outside']))
  }
  return isObject(skill) && isSkill(skill) && isTexts(outside) && Array.isArray(warnings) && warnings.length <= listMax
    && warnings.every(isWarning)
    && Array.isArray(broken) && broken.length <= operationsMax && broken.every(isBroken)
}

function isAwaiting ({ path, module, isolation, read, env, outside }: JsonObject): boolean {
  return isText(path) && isText(module) && isTexts(env) && isTexts(outside) && (read === undefined || isTexts(read))
    && (isolation === undefined || schemas.CONFINEMENTS.some(level => level === isolation))
}

/**
 * Reads the report of a confined process in which a module ran: it may be anything that JSON can hold. What it says of
 * tools is checked where the skill is described.
 * @returns the default export, or why there is none; undefined when the value is no report
 */
export function readExported (value: unknown): Exported | { fault: string } | undefined {
  if (!isObject(value)) return undefined
  const { fault, exported } = value
  if (isText(fault)) return { fault }
  return isExported(exported) ? exported : undefined
}

function isExported (value: unknown): value is Exported {
  if (!isObject(value) || !Array.isArray(value['tools']) || value['tools'].length > operationsMax) return false
  const isTool = (tool: unknown): boolean => isObject(tool)
    && (isText(tool['error']) ? isText(tool['tool']) : isText(tool['name']) && Object.hasOwn(tool, 'described'))
  return Object.hasOwn(value, 'frame') && value['tools'].every(isTool)
    && isPlain(value, depthMax, { values: valuesMax })
}

function isWarning (value: unknown): boolean {
  return isObject(value) && isText(value['name']) && isText(value['path']) && isText(value['warning'])
}

function isBroken (value: unknown): boolean {
  return isObject(value) && isText(value['name']) && isMaybeText(value['tool']) && isText(value['path'])
    && isText(value['error']) && value['serving'] === undefined
}

function isSkill (
  {
    name, description, version, runtime, instructions, permissions, concurrency, directory, module, revision, tools
  }: JsonObject
): boolean {
  return isText(name) && isText(description) && isMaybeText(version) && isText(runtime) && isText(directory)
    && isMaybeText(module) && isText(revision)
    && (instructions === undefined || (typeof instructions === 'string' && instructions.length <= instructionsMax))
    && isObject(permissions) && (typeof permissions['network'] === 'boolean' || isTexts(permissions['network']))
    && ['write', 'env', 'secrets'].every(kind => isTexts(permissions[kind]))
    && (permissions['read'] === undefined || isTexts(permissions['read'])) && isMaybeText(permissions['isolation'])
    && isMaybeConcurrency(concurrency)
    && Array.isArray(tools) && tools.length <= operationsMax && tools.every(isTool)
}

function isTool (value: unknown): boolean {
  if (!isObject(value)) return false
  const {
    name, description, parameters, input_schema, timeout_ms, annotations, retry, concurrency, runtime, secrets, command,
    approval
  } = value
  return typeof name === 'string' && TOOL_NAME.test(name) && isText(description) && isMaybeText(runtime)
    && isMaybeText(approval) && isTexts(secrets) && isObject(input_schema)
    && (timeout_ms === undefined || (isCount(timeout_ms) && timeout_ms > 0))
    && (annotations === undefined || (isObject(annotations)
      && Object.values(annotations).every(value => typeof value === 'boolean')))
    && (retry === undefined || isRetry(retry, annotations)) && isMaybeConcurrency(concurrency)
    && (command === undefined
      || (isObject(command) && isText(command['program']) && Array.isArray(command['parts'])
        && isTexts(command['dashes'])))
    && Array.isArray(parameters) && parameters.every(isParameter)
}

function isRetry (retry: unknown, annotations: unknown): boolean {
  return isObject(retry) && ['attempts', 'backoff_ms', 'factor', 'max_ms', 'jitter'].every(field => {
    const value = retry[field]
    return typeof value === 'number' && value >= 0 && value <= 600_000
  }) && isObject(annotations) && (annotations['idempotent'] === true || annotations['read_only'] === true)
}

function isMaybeConcurrency (value: unknown): boolean {
  if (value === undefined) return true
  if (!isObject(value)) return false
  const { key, limit, when_full } = value
  return isText(key) && isCount(limit) && limit > 0 && WHEN_FULL.some(name => name === when_full)
}

function isParameter (value: unknown): boolean {
  return isObject(value) && isText(value['name']) && isText(value['type']) && isText(value['description'])
    && typeof value['required'] === 'boolean'
}

function isTexts (value: unknown): boolean {
  return Array.isArray(value) && value.length <= listMax && value.every(isText)
}

function isText (value: unknown): value is string {
  return typeof value === 'string' && value.length <= textMax
}

function isMaybeText (value: unknown): boolean {
  return value === undefined || isText(value)
}

function isCount (value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Whether a value is plain data as in manifests, within the limits of depth and amount. */
function isPlain (value: unknown, depth: number, left: { values: number }): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'bigint' && --left.values >= 0
  if (value instanceof Date) return true
  if (depth === 0 || --left.values < 0) return false
  if (Array.isArray(value)) return value.every(inner => isPlain(inner, depth - 1, left))
  return Object.getPrototypeOf(value) === Object.prototype
    && Object.values(value).every(inner => isPlain(inner, depth - 1, left))
}
