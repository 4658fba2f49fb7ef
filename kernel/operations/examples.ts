import type { Approval } from '../contracts/approval.ts'
import type { Execution, JsonObject } from '../contracts/schemas.ts'

/** The skill, the call and the execution in the examples of the documentation of all operations. */
export const exampleSkill = {
  name: 'text',
  description: 'Transform and measure text',
  version: '1.0.0',
  runtime: 'script',
  tools: [{
    name: 'count',
    description: 'Count the characters, words and lines of a text',
    parameters: [{ name: 'text', type: 'string' as const, description: 'The text', required: true }],
    input_schema: {
      type: 'object',
      properties: { text: { type: 'string', description: 'The text' } },
      required: ['text'],
      additionalProperties: false
    }
  }]
}

export const exampleId = '01980a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b'

export const exampleCall: JsonObject = { skill_name: 'text', tool_name: 'count', parameters: { text: 'Hello, world' } }

export const exampleExecution: Execution = {
  id: exampleId,
  skill_name: 'text',
  tool_name: 'count',
  status: 'success',
  created_at: '2026-01-02T03:04:05.678Z',
  duration_ms: 1,
  runtime: 'script',
  started_at: '2026-01-02T03:04:05.679Z',
  finished_at: '2026-01-02T03:04:05.680Z',
  parameters: { text: 'Hello, world' },
  output: '{"characters":12,"words":2,"lines":1}',
  output_truncated: false,
  error: null,
  transitions: [
    { status: 'queued', at: '2026-01-02T03:04:05.678Z' },
    { status: 'running', at: '2026-01-02T03:04:05.679Z' },
    { status: 'success', at: '2026-01-02T03:04:05.680Z' }
  ],
  transport: 'http',
  key: null,
  isolation: 'thread'
}

export const exampleApproval: Approval = {
  digest: '2f7d8f0c5e1b4a6d9c3e7b1a0f5d2c8e4b6a9d1f3c7e5b0a8d6f2c4e1b9a7d50',
  reason: 'rule 1 of approvals.rules',
  asked_at: '2026-01-02T03:04:05.679Z',
  expires_at: '2026-01-02T03:14:05.679Z',
  decision: null,
  decided_at: null,
  decided_by: null
}
