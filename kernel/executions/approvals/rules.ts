import { isDeepStrictEqual } from 'node:util'
import { compileAllows } from '../../contracts/access.ts'
import type { ApprovalRule } from '../../contracts/approval-settings.ts'
import type { JsonObject } from '../../contracts/schemas.ts'
import type { Job } from '../../contracts/services.ts'
import type { ToolAnnotations } from '../../contracts/tool-annotations.ts'
import { matchesText } from './match-text.ts'

/** What the rules say of a call. */
export interface Verdict {
  readonly action: ApprovalRule['action']
  /** Which rule says it, for people. */
  readonly reason: string
}

/** The first rule that fits a call; undefined where none does. */
export type Rules = (job: Job) => Verdict | undefined

/** Compiles the rules of the configuration; undefined where there are none, so that calls need not be compared. */
export function compileRules (rules: readonly ApprovalRule[]): Rules | undefined {
  if (rules.length === 0) return undefined
  const compiled = rules.map((rule, index) => ({
    fits: compileRule(rule),
    verdict: { action: rule.action, reason: `rule ${index + 1} of approvals.rules` }
  }))
  return job => compiled.find(({ fits }) => fits(job))?.verdict
}

function compileRule ({ tools = [], annotations, keys, parameters }: ApprovalRule): (job: Job) => boolean {
  const allows = compileAllows(tools)
  return job => (allows === undefined || allows(job.skill.name, job.tool.name))
    && (keys === undefined || keys.includes(job.key ?? ''))
    && (annotations === undefined || hasAnnotations(job.tool.annotations, annotations))
    && (parameters === undefined || hasParameters(job.parameters, parameters))
}

/** Whether a tool is as the rule says. What a tool does not declare counts as the more dangerous value. */
function hasAnnotations (declared: ToolAnnotations = {}, wanted: ToolAnnotations): boolean {
  const { read_only = false, idempotent = false, open_world = true } = declared
  const { destructive = !read_only } = declared
  const present = { read_only, destructive, idempotent, open_world }
  return (wanted.read_only ?? read_only) === present.read_only
    && (wanted.destructive ?? destructive) === present.destructive
    && (wanted.idempotent ?? idempotent) === present.idempotent
    && (wanted.open_world ?? open_world) === present.open_world
}

function hasParameters (given: JsonObject, wanted: JsonObject): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    if (!Object.hasOwn(given, name)) return false
    const present = given[name]
    return typeof value === 'string' && typeof present === 'string'
      ? matchesText(value, present)
      : isDeepStrictEqual(present, value)
  })
}
