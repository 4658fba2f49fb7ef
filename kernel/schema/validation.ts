import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { RE2JS } from 're2js'
import { isObject } from '../lib/json.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { dataKeywords } from './parameters.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import { pathFormats } from '../contracts/section.ts'

/** The longest pattern, in characters: the cost to compile and to match a pattern grows with its length. */
export const patternMax = 2_048

/** The maximum number of fields of an object that are compared with the names of its missing fields. */
const comparedMax = 20

/**
 * The regular expressions of schemas. Patterns come from manifests and are matched with strings from requests. RE2
 * matches in linear time, while some patterns and strings make a backtracking engine hang. compileInputSchema limits
 * the length of the strings; RE2 itself limits the repetitions in a pattern (1,000 in all).
 */
const linearTime = Object.assign(
  (pattern: string, _flags: string) => {
    if (pattern.length > patternMax) throw new Error(`a pattern is longer than ${patternMax} characters`)
    const compiled = RE2JS.compile(pattern)
    return {
      test: (subject: string): boolean => compiled.matcher(subject).find(),
      toString: () => pattern // ajv uses this as the key of a pattern; without it, all patterns would be the first one
    }
  },
  { code: 'linearTime' }
)

/** @param validateSchema whether schemas themselves are checked first; the preparation takes a tenth of a second */
function createAjv (validateSchema: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    useDefaults: true,
    ownProperties: true, // an inherited `toString` does not count as a required field
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema,
    addUsedSchema: false,
    allowUnionTypes: true,
    logger: false,
    verbose: true, // explain() needs the schema of the value
    code: { regExp: linearTime }
  })
  addFormats.default(ajv, { mode: 'fast', keywords: false })
  for (const format of pathFormats) ajv.addFormat(format, true)
  // Keywords of OpenAPI and TypeBox that do not affect validity, and a keyword that ajv supports but does not list.
  ajv.addVocabulary(['example', 'flag', '$anchor'])
  return ajv
}

/** Checks a value and fills in default values. Returns an error message, or undefined for a valid value. */
export type Check = (value: unknown) => string | undefined

let lenient: Ajv2020 | undefined
let strict: Ajv2020 | undefined

/**
 * Compiles a JSON Schema (2020-12) to a check that fills in default values.
 * @param root the name of the value in error messages, such as `parameters` in `parameters/count must be integer`
 * @param checked whether the schema is known to be valid, like the project's own schemas; default false
 * @throws Error with the fault of the schema: an unknown keyword, or a pattern that RE2 does not support
 */
export function compileCheck (schema: object, root: string, { checked = false }: { checked?: boolean } = {}): Check {
  const ajv = checked ? lenient ??= createAjv(false) : strict ??= createAjv(true)
  const bounded = withSafeIntegers(schema)
  const validate: ValidateFunction = ajv.compile(bounded)
  ajv.removeSchema(bounded) // ajv would hold it for ever, and skills are reloaded often
  const inherits = hasInheritedNames(bounded)
  return value => {
    if (inherits) dropPrototypes(value)
    return validate(value) ? undefined : explain(validate.errors ?? [], root)
  }
}

/**
 * Whether every object inherits a property with this name, such as `constructor`: it would seem to exist in an object
 * that does not have it.
 */
function isInherited (name: string): boolean {
  return name in Object.prototype
}

/**
 * Whether a schema has a property with such a name. For such a property, ajv takes the inherited value for the value of
 * the object, and does not fill in the default value.
 */
function hasInheritedNames (schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasInheritedNames)
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([key, value]) =>
    (namedSchemas.has(key) && typeof value === 'object' && value !== null && Object.keys(value).some(isInherited))
    || hasInheritedNames(value))
}

/** Removes the prototypes of all objects in plain data, so that they inherit no properties. */
function dropPrototypes (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) Object.setPrototypeOf(value, null)
  for (const inner of Object.values(value)) dropPrototypes(inner)
}

/** Keywords whose keys are names and not keywords. */
const namedSchemas = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * Copies a schema and limits integers to the range in which doubles are exact: the integer 9007199254740993 would reach
 * a tool as a different number. These limits are implicit, so the schemas that users see do not contain them.
 */
function withSafeIntegers (schema: object): object {
  const copy: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (namedSchemas.has(key) && typeof value === 'object' && value !== null) {
      copy[key] = Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, safe(schema)]))
    } else {
      copy[key] = dataKeywords.has(key) ? value : safe(value)
    }
  }
  const types = new Set<unknown>([copy['type']].flat())
  if (types.has('integer') && !types.has('number')) {
    copy['minimum'] ??= Number.MIN_SAFE_INTEGER
    copy['maximum'] ??= Number.MAX_SAFE_INTEGER
  }
  return copy
}

function safe (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(safe)
  return typeof value === 'object' && value !== null ? withSafeIntegers(value) : value
}

/** Describes the first error in one sentence: the place, the fault, and the nearest known name for an unknown name. */
function explain (errors: readonly ErrorObject[], root: string): string {
  const [error] = errors
  if (error === undefined) return `${root || 'value'} is invalid`
  const where = `${root}${error.instancePath}`.replace(/^\//, '') || 'body'
  const params: JsonObject = error.params
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(params['additionalProperty'])
      const fields = typeof error.parentSchema?.['properties'] === 'object'
        ? Object.keys(error.parentSchema['properties'])
        : []
      const [pattern] = Object.keys(error.parentSchema?.['patternProperties'] ?? {})
      if (pattern !== undefined) return `${where} has a field "${shorten(name)}"; names must match "${pattern}"`
      return `${where} has an unknown field "${shorten(name)}"${didYouMean(name, fields)}`
    }
    case 'required': {
      const names = missing(errors)
      const unknown = mistakenFor(names, error)
      return unknown === undefined
        ? `${where} must have the field ${names.map(name => `"${name}"`).join(' or ')}`
        : `${where} has an unknown field "${shorten(unknown)}"${didYouMean(unknown, names)}`
    }
    case 'enum': {
      const allowed = Array.isArray(params['allowedValues']) ? params['allowedValues'] : []
      return `${where} must be one of ${allowed.slice(0, 20).map(value => JSON.stringify(value)).join(', ')}`
    }
    case 'const': return `${where} must be ${JSON.stringify(params['allowedValue'])}`
    default: return `${where} ${error.message ?? 'is invalid'}`
  }
}

/**
 * The names of missing fields: one name, or for an `anyOf` the names of which one is required. ajv reports the missing
 * field of each alternative before the error of the `anyOf` itself.
 */
function missing (errors: readonly ErrorObject[]): string[] {
  const names = errors.map(({ params }) => String((params as JsonObject)['missingProperty']))
  const isChoice = errors.at(-1)?.keyword === 'anyOf'
    && errors.slice(0, -1)
      .every(({ keyword, instancePath }) => keyword === 'required' && instancePath === errors[0]?.instancePath)
  return isChoice ? [...new Set(names.slice(0, -1))] : names.slice(0, 1)
}

/** An unknown field whose name is near to the name of a missing field: probably a misspelled name. */
function mistakenFor (names: readonly string[], { data, parentSchema }: ErrorObject): string | undefined {
  const properties: unknown = parentSchema?.['properties']
  if (parentSchema?.['additionalProperties'] !== false || !isObject(data) || !isObject(properties)) return undefined
  return Object.keys(data)
    .slice(0, comparedMax)
    .find(field => !Object.hasOwn(properties, field) && nearest(field, names) !== undefined)
}

function shorten (name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name
}
