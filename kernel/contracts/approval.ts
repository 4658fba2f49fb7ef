import { Type, type Static } from 'typebox'

/** Limits of the texts of a request for approval and of its answer, in characters. */
export const approvalTexts = { preview: 4_000, note: 1_000 } as const

/** Who can decide on a request for approval. */
export const DECIDERS = ['terminal', 'key', 'caller', 'expiry'] as const
export type Decider = typeof DECIDERS[number]

const time = (description: string) => Type.String({ format: 'date-time', description })
const choice = <const Values extends readonly string[]> (values: Values, title: string, description: string) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], title, description })

/** A request for approval in the record of an execution, and what was decided. */
export type Approval = Static<typeof Approval>
export const Approval = Type.Object({
  digest: Type.String({
    description: 'Identifies what is asked: the tool, its exact parameters and the preview. A decision names it'
  }),
  reason: Type.String({ description: 'Why an approval is needed' }),
  preview: Type.Optional(Type.String({ description: 'What the tool would do, in its own words' })),
  asked_at: time('When the execution began to wait'),
  expires_at: time('When it is denied if nobody decides'),
  decision: Type.Union(
    [choice(['approved', 'denied'], 'Decision', 'What was decided'), Type.Null()],
    { description: 'What was decided; null while it waits' }
  ),
  decided_at: Type.Union([time('When it was decided'), Type.Null()]),
  decided_by: Type.Union([choice(
    DECIDERS, 'Decider',
    'Who decided: a person at the terminal, the holder of a key, the user of the caller, or nobody in time'
  ), Type.Null()]),
  key: Type.Optional(Type.String({ description: 'Name of the API key that decided' })),
  note: Type.Optional(Type.String({ description: 'The reason that was given' }))
}, { title: 'Approval', description: 'A request for approval, and what was decided' })

/** A decision on a request for approval. */
export interface Decision {
  readonly decision: 'approved' | 'denied'
  readonly by: Decider
  /** The request that it is about: it counts for no other one. */
  readonly digest: string
  /** Name of the key of whoever decides. */
  readonly key?: string
  /** The reason of whoever decides. */
  readonly note?: string
}

/** The request of an execution that waits for a decision; undefined where none does. */
export function pendingApproval (
  { status, approvals }: { status: string, approvals?: Approval[] }
): Approval | undefined {
  const newest = approvals?.at(-1)
  return status === 'waiting' && newest?.decision === null ? newest : undefined
}
