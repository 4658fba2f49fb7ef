import { isObject, type JsonObject } from '../../../kernel/index.ts'
import type { Inputs } from './inputs.ts'
import type { Operation } from './operations.ts'
import type { References } from './references.ts'
import type { RequestSchemas } from './schemas.ts'
import { STYLES, type TargetParameter } from './target.ts'
import { listAt, objectAt, own, textAt } from './values.ts'

const PLACES = ['path', 'query', 'header', 'cookie'] as const
type Place = typeof PLACES[number]
/** Headers that the document may not define as parameters. */
const notParameters = new Set(['accept', 'content-type', 'authorization'])

/** Adds the parameters of an operation to the inputs of its tool. @throws Error when a reference leads nowhere */
export function addParameters (
  { item, value, path }: Operation, inputs: Inputs, schemas: RequestSchemas, references: References
): TargetParameter[] {
  const found = new Map<string, { place: Place, name: string, parameter: JsonObject }>()
  for (const given of [...listAt(item, 'parameters'), ...listAt(value, 'parameters')]) {
    const parameter = references.follow(given)
    const [name, place] = [textAt(parameter, 'name'), PLACES.find(known => known === parameter['in'])]
    if (name === undefined || name === '' || place === undefined) continue
    if (place === 'header' && notParameters.has(name.toLowerCase())) continue
    found.set(`${place} ${name}`, { place, name, parameter })
  }
  // What the path names must be given, declared or not.
  const named = [...path.matchAll(/\{([^{}]+)\}/g)].flatMap(([, name = '']) => name)
  for (const name of named) {
    if (!found.has(`path ${name}`)) found.set(`path ${name}`, { place: 'path', name, parameter: {} })
  }
  return [...found.values()]
    .filter(({ place, name }) => place !== 'path' || named.includes(name))
    .sort((a, b) => PLACES.indexOf(a.place) - PLACES.indexOf(b.place))
    .map(({ place, name, parameter }) => addOne(place, name, parameter, inputs, schemas))
}

function addOne (
  place: Place, name: string, parameter: JsonObject, inputs: Inputs, schemas: RequestSchemas
): TargetParameter {
  const content = Object.values(objectAt(parameter, 'content')).find(isObject)
  const schema = schemas.convert(content === undefined ? own(parameter, 'schema') : content['schema'])
  const description = textAt(parameter, 'description') ?? ''
  const required = place === 'path' || parameter['required'] === true
  const input = inputs.add(name, place, { schema, description, required })
  const style = STYLES.find(known => known === parameter['style'])
    ?? (place === 'query' || place === 'cookie' ? 'form' : 'simple')
  const { explode = style === 'form' || style === 'deepObject' } = parameter
  return {
    input, name, in: place, style, explode: explode === true, ...(content !== undefined && { json: true }),
    ...(parameter['allowReserved'] === true && { reserved: true })
  }
}
