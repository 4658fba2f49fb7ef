import { messageOf, type JsonObject, type ToolAnnotations, type ToolDefinition } from '../../../kernel/index.ts'
import { addBody } from './bodies.ts'
import { Inputs } from './inputs.ts'
import { toolTextMax } from './limits.ts'
import { operationsIn, type Operation } from './operations.ts'
import { addPages } from './pages.ts'
import { addParameters } from './parameters.ts'
import { References } from './references.ts'
import { RequestSchemas } from './schemas.ts'
import { authFor } from './security.ts'
import { serverFor } from './servers.ts'
import type { Target, TargetAuth } from './target.ts'
import { nameOperations } from './tool-names.ts'
import { objectAt, short, textAt } from './values.ts'

/** The part of a manifest that says how a document's operations are called. */
export interface Calling { server: string, private: boolean, auth: readonly TargetAuth[] }

/** An operation that is no tool, and why. */
export interface LeftOut { tool: string, key: string, error: string }

/** Where a document that was imported keeps the names of its operations. */
export const nameKey = 'x-skillet-name'

/**
 * Makes a tool of each operation. One that is damaged is left out by name; the others serve.
 * @param operations the operations; all of the document where absent
 */
export function toolsOf (
  document: JsonObject, calling: Calling, operations?: readonly Operation[]
): { tools: ToolDefinition[], left_out: LeftOut[] } {
  const references = new References(document)
  const all = operations ?? operationsIn(document, references)
  const names = nameOperations(all, keptNames(all))
  const tools: ToolDefinition[] = []
  const left_out: LeftOut[] = []
  for (const operation of all) {
    const name = names.get(operation.key) ?? ''
    try {
      tools.push(toolOf(operation, name, document, calling, references))
    } catch (error) {
      left_out.push({ tool: name, key: operation.key, error: `${operation.key.slice(0, 200)}: ${messageOf(error)}` })
    }
  }
  return { tools, left_out }
}

/** The names that operations had when they were imported. */
export function keptNames (operations: readonly Operation[]): Map<string, string> {
  return new Map(operations.flatMap(({ key, value }) => {
    const name = textAt(value, nameKey)
    return name !== undefined && /^[A-Za-z0-9_.-]{1,64}$/.test(name) ? [[key, name]] : []
  }))
}

function toolOf (
  operation: Operation, name: string, document: JsonObject, calling: Calling, references: References
): ToolDefinition {
  const { value, method, path } = operation
  const inputs = new Inputs()
  const schemas = new RequestSchemas(references)
  const parameters = addParameters(operation, inputs, schemas, references)
  const body = method === 'get' || method === 'head' ? undefined : addBody(value, inputs, schemas, references)
  const pages = addPages(operation, parameters, inputs, references)
  const target: Target = {
    method: method.toUpperCase(), server: serverFor(operation, calling.server), private: calling.private, path,
    parameters, ...(body !== undefined && { body }), accept: acceptOf(value, references),
    auth: authFor(document, value, calling.auth), ...(pages !== undefined && { pages })
  }
  return {
    name, description: descriptionOf(operation), parameters: inputs.descriptors(schemas.defs),
    input_schema: inputs.schema(schemas.defs), annotations: annotationsOf(method), secrets: [], target: { ...target }
  }
}

/** What RFC 9110 promises of a method. */
function annotationsOf (method: string): ToolAnnotations {
  const read_only = ['get', 'head', 'options', 'trace'].includes(method)
  return {
    read_only, idempotent: read_only || method === 'put' || method === 'delete', open_world: true,
    ...(method === 'delete' && { destructive: true })
  }
}

function descriptionOf ({ value, key }: Operation): string {
  const [summary = '', description = ''] = [textAt(value, 'summary'), textAt(value, 'description')]
  const text = description.startsWith(summary) ? description : `${summary.replace(/([^.!?])$/, '$1.')} ${description}`
  const old = value['deprecated'] === true ? 'Deprecated. ' : ''
  return `${old}${short(text.replaceAll(/\s+/g, ' '), toolTextMax)} (${key})`.trim().slice(0, 1_900)
}

/** The media types of the answers that a call expects; JSON first. */
function acceptOf (operation: JsonObject, references: References): string {
  const types = new Set<string>()
  for (const [status, response] of Object.entries(objectAt(operation, 'responses'))) {
    if (!/^(2|default)/.test(status)) continue
    try {
      for (const type of Object.keys(objectAt(references.follow(response), 'content'))) {
        if (/^[\w.+*-]+\/[\w.+*-]+$/.test(type)) types.add(type)
      }
    } catch {} // an answer that is not described is taken as it comes
  }
  const [json, other] = [[...types].filter(type => /json/.test(type)), [...types].filter(type => !/json/.test(type))]
  return [...json, ...other].slice(0, 8).concat(types.size === 0 ? 'application/json' : [], '*/*;q=0.1').join(', ')
}
