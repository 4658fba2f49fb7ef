import { Type, type Static } from 'typebox'

/** What a tool declares of its effects. An annotation that is absent says nothing. */
export type ToolAnnotations = Static<typeof ToolAnnotations>
export const ToolAnnotations = Type.Object({
  read_only: Type.Optional(Type.Boolean({ description: 'Whether it changes nothing' })),
  destructive: Type.Optional(Type.Boolean({ description: 'Whether it can delete or overwrite something' })),
  idempotent: Type.Optional(
    Type.Boolean({ description: 'Whether a second run with the same parameters changes nothing more' })
  ),
  open_world: Type.Optional(
    Type.Boolean({ description: 'Whether it works with things outside this machine, such as web pages' })
  )
}, { title: 'ToolAnnotations', additionalProperties: false, description: 'What the tool declares of its effects' })
