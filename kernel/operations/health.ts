import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { PluginStatus, QuarantinedSkill, SkillWarning } from '../schemas.ts'

export const health = operation({
  name: 'health',
  effect: 'read',
  route: 'GET /api/health',
  summary: 'Health check',
  description: 'Whether all parts work. A plugin that is not well makes it `degraded`; a skill that could not be loaded, or that is odd, is named and does not.',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    status: Type.Enum(['healthy', 'degraded']),
    version: Type.String(),
    uptime_seconds: Type.Integer({ minimum: 0 }),
    plugins: Type.Array(PluginStatus),
    quarantined: Type.Array(QuarantinedSkill, { description: 'Skills that could not be loaded' }),
    warnings: Type.Array(SkillWarning, { description: 'What is odd about skills that serve' })
  }),
  errors: [],
  example: {
    input: {},
    output: { status: 'healthy', version: '0.1.0', uptime_seconds: 12, plugins: [{ name: 'storage-lmdb', state: 'ready' }], quarantined: [], warnings: [] }
  },
  handler ({ catalog, plugins, uptime_seconds, version }) {
    const states = plugins()
    const unwell = states.some(({ state }) => state === 'degraded' || state === 'failed')
    return {
      status: unwell ? 'degraded' as const : 'healthy' as const,
      version: version.version,
      uptime_seconds: uptime_seconds(),
      plugins: states,
      quarantined: [...catalog.quarantined],
      warnings: [...catalog.warnings]
    }
  }
})
