import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { RE2JS } from 're2js'
import { isObject } from '../lib/json.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { dataKeywords } from './parameters.ts'
import type { JsonObject } from '../contracts/schemas.ts'

/** The longest pattern, in characters: what it costs to compile and to match grows with it. */
export const patternMax = 2_048

/** The most fields of an object that are compared with those it lacks. */
const comparedMax = 20

/**
 * Patterns come from manifests and meet strings from requests: RE2 matches in linear time, where a backtracking engine
 * can be made to hang. compileInputSchema bounds the strings; RE2 itself, how often a pattern repeats (1,000 times in
 * all).
 */
const linearTime = Object.assign(
  (pattern: string, _flags: string) => {
    if (pattern.length > patternMax) throw new Error(`a pattern is longer than ${patternMax} characters`)
    const compiled = RE2JS.compile(pattern)
    return {
      test: (subject: string): boolean => compiled.matcher(subject).find(),
      toString: () => pattern // ajv tells patterns apart by this; without it, all would be the first one
    }
  },
  { code: 'linearTime' }
)

/** @param validateSchema whether schemas themselves are checked first, which takes a tenth of a second to prepare */
function createAjv (validateSchema: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    useDefaults: true,
    ownProperties: true, // a required `toString` is not there by inheritance
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema,
    addUsedSchema: false,
    allowUnionTypes: true,
    logger: false,
    verbose: true, // explain() names the value's schema
    code: { regExp: linearTime }
  })
  addFormats.default(ajv, { mode: 'fast', keywords: false })
  // Keywords of OpenAPI and TypeBox that say nothing about validity, and one that ajv heeds but does not list.
  ajv.addVocabulary(['example', 'flag', '$anchor'])
  return ajv
}

/** Checks a value, filling defaults in where it was compiled to; returns what is wrong, or undefined. */
export type Check = (value: unknown) => string | undefined

let lenient: Ajv2020 | undefined
let strict: Ajv2020 | undefined

/**
 * Compiles a JSON Schema (2020-12) to a check that fills in defaults.
 * @param root what messages call the value: `parameters/count must be integer`
 * @param checked whether the schema is known to be right, as the project's own are; default false
 * @throws Error saying what is wrong with the schema: an unknown keyword, a pattern RE2 can't take
 */
export function compileCheck (schema: object, root: string, { checked = false }: { checked?: boolean } = {}): Check {
  const ajv = checked ? lenient ??= createAjv(false) : strict ??= createAjv(true)
  const bounded = withSafeIntegers(schema)
  const validate: ValidateFunction = ajv.compile(bounded)
  ajv.removeSchema(bounded) // it would be held for ever, and skills are loaded again and again
  const inherits = hasInheritedNames(bounded)
  return value => {
    if (inherits) dropPrototypes(value)
    return validate(value) ? undefined : explain(validate.errors ?? [], root)
  }
}

/**
 * Whether a name is one that each object inherits, such as `constructor`: it would seem to be there where it is not.
 */
function isInherited (name: string): boolean {
  return name in Object.prototype
}

/** Whether a schema names a property so: ajv takes what is inherited for a value where it would fill in the default. */
function hasInheritedNames (schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasInheritedNames)
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([key, value]) => (namedSchemas.has(key) && typeof value === 'object' && value !== null && Object.keys(value).some(isInherited)) || hasInheritedNames(value))
}

/** Takes from plain data what its objects inherit. */
function dropPrototypes (value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) Object.setPrototypeOf(value, null)
  for (const inner of Object.values(value)) dropPrototypes(inner)
}

/** Keywords whose keys are names, whatever they spell. */
const namedSchemas = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * A copy in which integers end where doubles can't tell them apart: 9007199254740993 would reach a tool as another.
 * The bounds go without saying, so the schemas that are shown don't have them.
 */
function withSafeIntegers (schema: object): object {
  const copy: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (namedSchemas.has(key) && typeof value === 'object' && value !== null) copy[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, safe(one)]))
    else copy[key] = dataKeywords.has(key) ? value : safe(value)
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

/** One sentence for the first error: where, what, and the nearest name for a mistaken one. */
function explain (errors: readonly ErrorObject[], root: string): string {
  const [error] = errors
  if (error === undefined) return `${root || 'value'} is invalid`
  const where = `${root}${error.instancePath}`.replace(/^\//, '') || 'body'
  const params: JsonObject = error.params
  switch (error.keyword) {
    case 'additionalProperties': {
      const name = String(params['additionalProperty'])
      const known = typeof error.parentSchema?.['properties'] === 'object' ? Object.keys(error.parentSchema['properties']) : []
      const [pattern] = Object.keys(error.parentSchema?.['patternProperties'] ?? {})
      if (pattern !== undefined) return `${where} has a field "${shorten(name)}"; names must match "${pattern}"`
      return `${where} has an unknown field "${shorten(name)}"${didYouMean(name, known)}`
    }
    case 'required': {
      const names = missing(errors)
      const unknown = mistakenFor(names, error)
      return unknown === undefined ? `${where} must have the field ${names.map(name => `"${name}"`).join(' or ')}` : `${where} has an unknown field "${shorten(unknown)}"${didYouMean(unknown, names)}`
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
 * The field that is missing, or those of which one is: of an `anyOf`, what each alternative lacks comes before its own
 * error.
 */
function missing (errors: readonly ErrorObject[]): string[] {
  const names = errors.map(({ params }) => String((params as JsonObject)['missingProperty']))
  const isChoice = errors.at(-1)?.keyword === 'anyOf' && errors.slice(0, -1).every(({ keyword, instancePath }) => keyword === 'required' && instancePath === errors[0]?.instancePath)
  return isChoice ? [...new Set(names.slice(0, -1))] : names.slice(0, 1)
}

/** An unknown field that is near to one that is missing: that is what is wrong. */
function mistakenFor (names: readonly string[], { data, parentSchema }: ErrorObject): string | undefined {
  const known: unknown = parentSchema?.['properties']
  if (parentSchema?.['additionalProperties'] !== false || !isObject(data) || !isObject(known)) return undefined
  return Object.keys(data).slice(0, comparedMax).find(field => !Object.hasOwn(known, field) && nearest(field, names) !== undefined)
}

function shorten (name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name
}
