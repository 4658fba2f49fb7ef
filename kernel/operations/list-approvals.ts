import { Type, type Static } from 'typebox'
import { pendingApproval } from '../contracts/approval.ts'
import { operation } from '../contracts/operation.ts'
import { JsonObject, Timestamp } from '../contracts/schemas.ts'
import { exampleApproval, exampleExecution, exampleId } from './examples.ts'

/** The longest parameters in a list, in characters of JSON. */
const parametersMax = 16_384

const Waiting = Type.Object({
  execution_id: Type.String({ description: 'The execution that waits' }),
  skill_name: Type.String(),
  tool_name: Type.String(),
  parameters: Type.Optional(Type.Unsafe<JsonObject>({
    type: 'object', additionalProperties: true,
    description: 'Its exact parameters, without secrets; absent where they are long: its record has them'
  })),
  preview: Type.Optional(Type.String({ description: 'What the tool would do, in its own words' })),
  reason: Type.String({ description: 'Why an approval is needed' }),
  digest: Type.String({ description: 'What a decision has to name' }),
  key: Type.Union([Type.String(), Type.Null()], { description: 'Name of the API key that started it' }),
  transport: Type.String({ description: 'How the call came in' }),
  asked_at: Timestamp('When it began to wait'),
  expires_at: Timestamp('When it is denied if nobody decides')
}, { title: 'WaitingApproval', description: 'An execution that waits for an approval' })

const { skill_name, tool_name, parameters } = exampleExecution
const { reason, digest, asked_at, expires_at } = exampleApproval

export const listApprovals = operation({
  name: 'list_approvals',
  effect: 'read',
  route: 'GET /api/approvals',
  summary: 'List executions that wait for an approval',
  description: 'What waits until a person approves or denies it, newest first, in whichever process. approve_execution and deny_execution decide.',
  input: Type.Object({
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Page size' }),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: '`next_cursor` of the page before' })
    )
  }, { additionalProperties: false }),
  output: Type.Object({
    approvals: Type.Array(Waiting),
    next_cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent on the last' }))
  }),
  errors: [],
  example: {
    input: { limit: 1 },
    output: {
      approvals: [{
        execution_id: exampleId, skill_name, tool_name, parameters, reason, digest, key: 'agent', transport: 'mcp',
        asked_at, expires_at
      }]
    }
  },
  async handler ({ storage }, { limit, cursor }) {
    const page = await storage.list({ limit, offset: 0, status: 'waiting', ...(cursor !== undefined && { cursor }) })
    const { executions, next_cursor } = page
    const records = await Promise.all(executions.map(({ id }) => storage.get(id)))
    const approvals = records.flatMap((stored): Static<typeof Waiting>[] => {
      const request = stored && pendingApproval(stored.execution)
      if (stored === undefined || request === undefined) return [] // it was decided meanwhile
      const { id, skill_name, tool_name, parameters, key, transport } = stored.execution
      const { reason, preview, digest, asked_at, expires_at } = request
      return [{
        execution_id: id, skill_name, tool_name,
        ...(JSON.stringify(parameters).length <= parametersMax && { parameters }),
        ...(preview !== undefined && { preview }),
        reason, digest, key, transport, asked_at, expires_at
      }]
    })
    return { approvals, ...(next_cursor !== undefined && { next_cursor }) }
  }
})
