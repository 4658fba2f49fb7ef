import { Type, type Static } from 'typebox'
import { schemas } from '../../../kernel/index.ts'

const { Choice } = schemas

/** How a value is written into a path, query, header, cookie or form. */
export const STYLES =
  ['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const

const written = {
  /** The parameter of the tool. */
  input: Type.String(),
  /** Its name in the request. */
  name: Type.String(),
  style: Choice(STYLES),
  explode: Type.Boolean(),
  /** It is written as JSON. */
  json: Type.Optional(Type.Boolean()),
  /** Characters with a meaning in queries are sent as they are. */
  reserved: Type.Optional(Type.Boolean())
}

export type TargetParameter = Static<typeof TargetParameter>
const TargetParameter = Type.Object({ ...written, in: Choice(['path', 'query', 'header', 'cookie']) })

export type TargetField = Static<typeof TargetField>
const TargetField = Type.Object({
  ...written,
  /** It is a file, or a list of files. */
  file: Type.Optional(Type.Boolean())
})

export type TargetBody = Static<typeof TargetBody>
const TargetBody = Type.Object({
  /** Its media type. */
  type: Type.String(),
  kind: Choice(['json', 'form', 'multipart', 'text', 'file']),
  /** The parameter that is the whole body; otherwise the fields are in `fields`. */
  input: Type.Optional(Type.String()),
  fields: Type.Array(TargetField),
  required: Type.Boolean()
})

export type TargetAuth = Static<typeof TargetAuth>
export const TargetAuth = Type.Object({
  /** The name of the scheme in the document. */
  scheme: Type.String({ maxLength: 256 }),
  kind: Choice(['header', 'query', 'cookie', 'bearer', 'basic', 'oauth2'], {
    description: 'How it is sent; oauth2: by the client credentials that the secrets are'
  }),
  name: Type.Optional(Type.String({ maxLength: 256, description: 'Name of the header, query parameter or cookie' })),
  secrets: Type.Array(Type.String(), {
    minItems: 1, maxItems: 2, description: 'The secret; for basic and oauth2 two: name and password'
  }),
  token_url: Type.Optional(Type.String({ maxLength: 2_048, description: 'Where oauth2 asks for a token' })),
  scopes: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 256, description: 'Scopes of oauth2' }))
}, { additionalProperties: false })

/** What the executor of the runtime `http` needs to run a tool: the shape of its `target`. */
export type Target = Static<typeof Target>
export const Target = Type.Object({
  method: Type.String(),
  /** Absolute, without a query; the path of the operation is added. */
  server: Type.String(),
  /** Whether the server may have an address of this machine or a private network: it was confirmed. */
  private: Type.Boolean(),
  path: Type.String(),
  parameters: Type.Array(TargetParameter),
  body: Type.Optional(TargetBody),
  accept: Type.String(),
  auth: Type.Array(TargetAuth),
  /** The parameter of the tool that says how many pages are fetched; and the parameter that asks for the next one. */
  pages: Type.Optional(Type.Object({
    input: Type.String(),
    token: Type.Optional(Type.String()),
    number: Type.Optional(Type.String())
  }))
})
