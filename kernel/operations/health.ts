import { Type } from 'typebox'
import { operation } from '../contracts/operation.ts'
import { Choice } from '../contracts/schemas.ts'
import { PluginStatus, QuarantinedSkill, SearchState, SkillWarning } from '../contracts/status.ts'

export const health = operation({
  name: 'health',
  effect: 'read',
  route: 'GET /api/health',
  summary: 'Health check',
  description: 'Whether all parts work. A plugin that is not well makes it `degraded`; a skill or a tool that could not be loaded, or a skill that is odd, is named and does not.',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    status: Choice(['healthy', 'degraded'], { title: 'HealthStatus', description: 'Whether all parts work' }),
    version: Type.String(),
    uptime_seconds: Type.Integer({ minimum: 0 }),
    plugins: Type.Array(PluginStatus),
    search: Type.Optional(SearchState),
    quarantined: Type.Array(QuarantinedSkill, { description: 'Skills, and tools of skills, that could not be loaded' }),
    warnings: Type.Array(SkillWarning, { description: 'What is odd about skills that serve' })
  }),
  errors: [],
  example: {
    input: {},
    output: {
      status: 'healthy', version: '0.1.0', uptime_seconds: 12, plugins: [{ name: 'storage-lmdb', state: 'ready' }],
      search: { mode: 'hybrid', model: 'ready', indexed: 75, total: 75 }, quarantined: [], warnings: []
    }
  },
  handler ({ catalog: { quarantined, warnings }, plugins, search, uptime_seconds, version: { version } }) {
    const states = plugins()
    const now = uptime_seconds()
    const searchState = search.state?.()
    let answer = answers.get(states)
    if (
      answer === undefined || answer.uptime_seconds !== now || answer.of !== quarantined || answer.warnings !== warnings
      || answer.searchState !== searchState || answer.output.version !== version
    ) {
      answer = {
        uptime_seconds: now,
        of: quarantined,
        warnings,
        searchState,
        output: outputOf(states, quarantined, warnings, version, now, searchState)
      }
      answers.set(states, answer)
    }
    return answer.output
  }
})

type Output = ReturnType<typeof outputOf>

/** The answers of this second, by their plugin states: frequent requests share one answer. */
const answers = new WeakMap<readonly PluginStatus[], {
  uptime_seconds: number, of: readonly QuarantinedSkill[], warnings: readonly SkillWarning[],
  searchState: SearchState | undefined, output: Output
}>()

function outputOf (
  states: readonly PluginStatus[],
  quarantined: readonly QuarantinedSkill[],
  warnings: readonly SkillWarning[],
  version: string,
  uptime_seconds: number,
  search: SearchState | undefined
) {
  const unwell = states.some(({ state }) => state === 'degraded' || state === 'failed')
  return Object.freeze({
    status: unwell ? 'degraded' as const : 'healthy' as const,
    version,
    uptime_seconds,
    plugins: [...states],
    ...(search !== undefined && { search }),
    quarantined: [...quarantined],
    warnings: [...warnings]
  })
}
