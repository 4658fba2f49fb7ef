import { Type, type Static } from 'typebox'
import { compileCheck, isObject, messageOf, type Check, type ToolDefinition } from '../../../kernel/index.ts'
import { operationsMax } from './limits.ts'
import { operationsIn } from './operations.ts'
import { References } from './references.ts'
import { TargetAuth } from './target.ts'
import { toolsOf, type LeftOut } from './tools.ts'
import { serverOf } from './servers.ts'

/** The section `http` of a `skill.toml`. */
export type HttpSection = Static<typeof HttpSection>
const HttpSection = Type.Object({
  server: Type.String({ maxLength: 2_048, description: 'Where requests are sent: an address with http or https' }),
  private: Type.Boolean({
    default: false, description: 'Whether the server may have an address of this machine or of a private network'
  }),
  auth: Type.Array(TargetAuth, {
    default: [], maxItems: 8, description: 'The credentials that are sent to the server'
  }),
  source: Type.Optional(Type.String({ maxLength: 4_096, description: 'Where the document was imported from' })),
  sha256: Type.Optional(Type.String({ maxLength: 64, description: 'The hash of the document that was imported' })),
  etag: Type.Optional(Type.String({ maxLength: 1_024, description: 'Its ETag' })),
  last_modified: Type.Optional(Type.String({ maxLength: 128, description: 'Its Last-Modified' })),
  filter: Type.Optional(Type.Array(Type.String({ maxLength: 1_024 }), {
    maxItems: 256, description: 'Which operations were imported; all where absent'
  }))
}, { additionalProperties: false })

let check: Check | undefined

/**
 * Reads the section `http` of a manifest.
 * @throws Error that names the field
 */
export function httpOf (given: unknown): HttpSection {
  const section = structuredClone(given ?? {})
  const fault = (check ??= compileCheck(HttpSection, 'http', { checked: true }))(section)
  if (fault !== undefined) throw new Error(fault)
  const http = section as HttpSection // the check above guarantees the type
  const server = serverOf(http.server)
  if (server === undefined) throw new Error(`http/server: "${http.server}" is no address with http or https`)
  return { ...http, server }
}

/**
 * The tools of a document that was imported.
 * @param text the document in JSON, of version 3
 * @throws Error when it is damaged, or none of its operations can be called
 */
export function readApi (text: string, http: HttpSection): { tools: ToolDefinition[], left_out: LeftOut[] } {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not valid JSON: ${messageOf(error).slice(0, 200)}`, { cause: error })
  }
  if (!isObject(document) || !isObject(document['paths'])) throw new Error('it has no paths')
  const operations = operationsIn(document, new References(document))
  if (operations.length > operationsMax) {
    throw new Error(`it has ${operations.length} operations; the most is ${operationsMax}; import a part by --filter`)
  }
  const { tools, left_out } = toolsOf(document, http, operations)
  if (tools.length === 0) throw new Error(left_out[0]?.error ?? 'it has no operations')
  return { tools, left_out }
}
