import {
  compileInputSchema, isObject, schemas, type JsonObject, type ParameterDescriptor
} from '../../../kernel/index.ts'
import { schemaTextMax } from './limits.ts'
import { short, textAt } from './values.ts'

/** Longer names of parameters are refused by models. */
const longest = 64

interface Input { schema: JsonObject, description: string, required: boolean }

/** The parameters of a tool, which come from several parts of a request and have one name each. */
export class Inputs {
  readonly #inputs = new Map<string, Input>()
  /** For each of the inputs, those that must be given with it. */
  readonly #together = new Map<string, string[]>()

  /**
   * Adds a parameter.
   * @param name its name in the request
   * @param place where it stands in the request; becomes a part of its name when the name is taken
   * @returns its name in the tool
   */
  add (name: string, place: string, input: Input): string {
    const plain = (name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replace(/(?<=.)_+$/, '') || place).slice(0, longest)
    let chosen = plain === '__proto__' ? place : plain
    for (let i = 1; this.#inputs.has(chosen); i++) {
      const end = i === 1 ? `_${place}` : `_${place}_${i}`
      chosen = plain.slice(0, longest - end.length) + end
    }
    this.#inputs.set(chosen, input)
    return chosen
  }

  /** When one of these is given, the required ones must be, too. */
  together (names: readonly string[], required: readonly string[]): void {
    for (const name of names) this.#together.set(name, required.filter(other => other !== name))
  }

  /** The descriptions of all parameters, for people. */
  descriptors (defs: JsonObject): ParameterDescriptor[] {
    return [...this.#inputs].map(([name, { schema, description, required }]) =>
      ({ name, type: typeOf(schema, defs), description: this.#text(name, schema, description), required }))
  }

  /** The JSON Schema of the tool's input. */
  schema (defs: JsonObject): JsonObject {
    const together = [...this.#together].filter(([, required]) => required.length > 0)
    const inputs = [...this.#inputs]
    const { allOf, ...rules } = compileInputSchema([], {
      allOf: inputs.map(([name, { schema, description }]) =>
        ({ ...schema, description: this.#text(name, schema, description) })),
      ...(Object.keys(defs).length > 0 && { $defs: defs }),
      ...(together.length > 0 && { dependentRequired: Object.fromEntries(together) })
    })
    const bounded = Array.isArray(allOf) ? allOf as unknown[] : []
    const properties = Object.fromEntries(inputs.map(([name], i) => [name, bounded[i]]))
    const required = inputs.filter(([, input]) => input.required).map(([name]) => name)
    return { ...rules, properties, ...(required.length > 0 && { required }) }
  }

  #text (name: string, schema: JsonObject, description: string): string {
    const further = textAt(schema, 'description') ?? ''
    const both = further.includes(description) ? further : `${description} ${further}`
    return short(both, schemaTextMax) || name
  }
}

/** The type that is shown; a schema may allow several, or refer to another. */
function typeOf (schema: JsonObject, defs: JsonObject, depth = 0): ParameterDescriptor['type'] {
  const reference = textAt(schema, '$ref')
  const named = reference === undefined ? undefined : defs[reference.slice('#/$defs/'.length)]
  if (isObject(named) && depth < 8) return typeOf(named, defs, depth + 1)
  const type = [schema['type']].flat().find(type => type !== 'null')
  const known = schemas.PARAMETER_TYPES.find(known => known === type)
  if (known !== undefined) return known
  return ['properties', 'allOf', 'anyOf', 'additionalProperties'].some(key => key in schema) ? 'object' : 'string'
}
