import { Type, type Static } from 'typebox'
import { ACCESS_PATTERN } from './access.ts'
import { KEY_NAME } from './key-settings.ts'
import { Choice, type JsonObject } from './schemas.ts'
import { defineSection } from './section.ts'
import { ToolAnnotations } from './tool-annotations.ts'

/** The most rules that the configuration may have, and the most values in a list of a rule. */
const rulesMax = 1_000
const valuesMax = 100

/** A rule for approvals, in `[[approvals.rules]]`. It fits a call that has all that it names. */
export type ApprovalRule = Static<typeof ApprovalRule>
export const ApprovalRule = Type.Object({
  action: Choice(['allow', 'ask', 'deny'], { description: 'What happens with a call that it fits' }),
  tools: Type.Optional(Type.Array(Type.String({ pattern: ACCESS_PATTERN.source }), {
    minItems: 1, maxItems: valuesMax,
    description: 'Skills and tools, such as `git`, `git:push` or `data-*`; all by default'
  })),
  annotations: Type.Optional(ToolAnnotations),
  keys: Type.Optional(Type.Array(Type.String({ pattern: `${KEY_NAME.source}|^$` }), {
    minItems: 1, maxItems: valuesMax,
    description: 'Names of API keys of the caller; an empty text is a call without a key'
  })),
  parameters: Type.Optional(Type.Unsafe<JsonObject>({
    type: 'object', minProperties: 1, maxProperties: valuesMax, additionalProperties: true,
    description: 'Values of parameters. In a text, `*` stands for any characters'
  }))
}, { additionalProperties: false })

/** The section `[approvals]`. */
export const approvals = defineSection('approvals', 'Which calls a person has to approve', {
  rules: Type.Array(ApprovalRule, {
    default: [], maxItems: rulesMax,
    description: 'Rules, each in [[approvals.rules]]; the first that fits a call counts'
  }),
  expires_ms: Type.Integer({
    default: 600_000, minimum: 1_000, maximum: 2_592_000_000,
    description: 'How long a call may wait for an approval, in milliseconds; then it is denied'
  }),
  waiting_max: Type.Integer({
    default: 1_000, minimum: 1, maximum: 10_000,
    description: 'Executions of a process that may wait for an approval; beyond it they are refused'
  }),
  ask_caller: Type.Boolean({
    default: true,
    description: 'Whether the user of the client that calls may approve in that client, where it can ask (elicitation)'
  })
})
