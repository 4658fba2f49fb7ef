import { Type, type Static } from 'typebox'
import { compileCheck, type Check } from '../../../kernel/index.ts'

const Texts = Type.Record(Type.String(), Type.String())

/** A skill that the user trusted, with the content that it had. */
export type TrustRecord = Static<typeof TrustRecord>
const TrustRecord = Type.Object({
  name: Type.String(),
  /** Absolute path of the skill's folder, without links. */
  path: Type.String(),
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** A digest of each file, folder and link, by path: to tell which ones changed. */
  files: Texts,
  snapshot: Type.Object({
    description: Type.String(),
    instructions: Type.String(),
    permissions: Texts,
    tools: Type.Record(Type.String(), Type.Object({ description: Type.String(), parameters: Texts, rest: Type.String() }))
  }),
  /** When it was trusted, as an ISO 8601 time in UTC. */
  at: Type.String(),
  /** The name of the user who trusted it. */
  by: Type.String()
})

/** The version of the format. */
export const formatVersion = 1
const TrustTable = Type.Object({ version: Type.Literal(formatVersion), skills: Type.Array(TrustRecord, { maxItems: 10_000 }) })
type TrustTable = Static<typeof TrustTable>

let compiled: Check | undefined

/** @throws Error that says what is wrong with the text */
export function parseRecords (text: string): TrustRecord[] {
  const value: unknown = JSON.parse(text)
  const wrong = (compiled ??= compileCheck(TrustTable, 'trust.json'))(value)
  if (wrong !== undefined) throw new Error(wrong)
  return (value as TrustTable).skills // the check above guarantees the type
}
