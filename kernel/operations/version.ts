import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'

export const version = operation({
  name: 'version',
  effect: 'read',
  route: 'GET /api/version',
  summary: 'Version info',
  description: 'What is running: version, commit and build date.',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    version: Type.String({ description: 'Semantic version' }),
    commit: Type.String({ description: 'Commit it was built from' }),
    build_date: Type.String({ description: 'YYYY-MM-DD' })
  }),
  errors: [],
  example: { input: {}, output: { version: '0.1.0', commit: '0123abc', build_date: '2026-01-02' } },
  handler: ({ version }) => version
})
