import type { Config } from '../contracts/config.ts'
import type { AnyPlugin, ExamineContext, Finding } from '../contracts/plugin.ts'
import type { Storage } from '../contracts/storage.ts'
import { messageOf } from '../lib/errors.ts'
import { isAlive } from '../lib/process-identity.ts'
import type { PluginStatus, QuarantinedSkill, SkillWarning } from '../contracts/status.ts'
import { within } from '../lib/within.ts'

/** Facts that are known without a call of a plugin. */
export interface SystemState {
  plugins: readonly PluginStatus[]
  quarantined: readonly QuarantinedSkill[]
  warnings: readonly SkillWarning[]
  storage: Pick<Storage, 'holder'>
}

/** What isolation promises with the present settings. */
export function isolationNote ({ isolation: { mode, level } }: Config): string {
  if (mode === 'off') {
    return `tools run without a sandbox (isolation.mode = "off"): of the permissions that skills declare, only env and secrets are enforced`
  }
  const where = level === 'sandbox' ? 'a sandbox' : `a sandbox (${level})`
  return mode === 'auto'
    ? `tools of skills that are not trusted run in ${where} where this machine has one`
    : `only trusted skills run outside ${where}`
}

/** How long a plugin may take to examine its environment, in milliseconds. */
const examine_ms = 5_000

/**
 * Collects findings about the skills, the running plugins, the serving process, and the environment of the given
 * plugins, which may be started or not. Never throws: a plugin whose examination fails becomes a finding itself.
 */
export async function examine (
  systemState: SystemState,
  plugins: readonly AnyPlugin[],
  context: ExamineContext
): Promise<Finding[]> {
  const own: Finding[] = [
    ...systemState.quarantined.map(({ name, tool, path, error }): Finding => ({
      level: 'problem',
      about: tool === undefined ? `skill ${name}` : `tool ${name}:${tool}`,
      text: `${path}: ${error}`
    })),
    ...systemState.warnings.map(({ name, path, warning }): Finding =>
      ({ level: 'note', about: `skill ${name}`, text: `${path}: ${warning}` })),
    ...systemState.plugins.filter(({ state }) => state === 'degraded' || state === 'failed')
      .map(({ name, state, reason }): Finding =>
        ({ level: 'problem', about: `plugin ${name}`, text: reason === undefined ? state : `${state}: ${reason}` }))
  ]
  const answers = await Promise.all([
    serving(systemState.storage),
    ...plugins.map(async plugin => await ask(plugin, context))
  ])
  const isolation: Finding = { level: 'note', about: 'isolation', text: isolationNote(context.config) }
  return [...own, ...withoutSkill(context, systemState.quarantined), isolation, ...answers.flat()]
}

/** Instances in the configuration of skills that do not exist, which serve nothing. */
function withoutSkill ({ config, skills }: ExamineContext, quarantined: readonly QuarantinedSkill[]): Finding[] {
  const known = new Set([...skills, ...quarantined].map(({ name }) => name))
  return Object.keys(config.skills.instances).filter(skill => !known.has(skill)).map((skill): Finding => ({
    level: 'problem', about: 'instances', text: `skills.instances.${skill}: there is no skill of this name`
  }))
}

async function serving (storage: Pick<Storage, 'holder'>): Promise<Finding[]> {
  const holder = await storage.holder('serve')
  if (holder === undefined || !isAlive(holder.owner)) return []
  return [{
    level: 'ok',
    about: 'server',
    text: `process ${holder.owner.pid} serves this data directory${holder.note === '' ? '' : ` at ${holder.note}`}`
  }]
}

async function ask ({ name, examine }: AnyPlugin, context: ExamineContext): Promise<Finding[]> {
  if (examine === undefined) return []
  const problem = (why: string): Finding[] =>
    [{ level: 'problem', about: `plugin ${name}`, text: `it can't say how it is: ${why}` }]
  let findings: Finding[] = problem(`it did not answer within ${examine_ms / 1000} s`)
  try {
    await within(examine_ms, (async () => { findings = await examine(context) })())
  } catch (error) {
    return problem(messageOf(error))
  }
  return findings
}
