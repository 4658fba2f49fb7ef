import type { StandardSchemaV1 } from '@modelcontextprotocol/client'

/** A schema that takes any value: what is wrong with one tool of a list must not hide the others. */
export const anyValue: StandardSchemaV1<unknown> = {
  '~standard': { version: 1, vendor: 'skillet', validate: value => ({ value }) }
}
