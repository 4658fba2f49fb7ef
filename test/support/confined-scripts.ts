import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import {
  silentLogger, type Executor, type Isolation, type JsonObject, type Logger, type Outcome, type SkillDefinition
} from '../../kernel/index.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'
import type { Call } from '../conformance/executor.ts'

export type Permissions = Partial<SkillDefinition['permissions']>

/** The executor of scripts, and what it said. */
export interface OpenedScripts {
  executor: Executor
  /** The server's log. */
  lines: string[]
  /** Runs a call. @param timeout_ms by default a minute */
  run (call: Call, timeout_ms?: number): Promise<Ended>
}

/** How a run ended, and what it had. */
export type Ended = Outcome & { isolation: Isolation | undefined, logged: string[] }

/** Opens the executor of scripts with these settings of isolation. */
export async function openScripts (t: Pick<Test, 'teardown'>, isolation: JsonObject): Promise<OpenedScripts> {
  const lines: string[] = []
  const note = (_data: object | string, text?: string): void => { if (text !== undefined) lines.push(text) }
  const log: Logger = { ...silentLogger, info: note, warn: note }
  const config = { isolation, execution: { threads: 2 } }
  const { service: executor, close } = await openPlugin(plugin, { config, log })
  t.teardown(close)
  let runs = 0
  const run = async (call: Call, timeout_ms = 60_000): Promise<Ended> => {
    let isolation: Isolation | undefined
    const logged: string[] = []
    const outcome = await executor.run(
      { execution_id: `run-${++runs}`, ...call, timeout_ms, config: {} },
      { started (where) { isolation = where }, progress () {}, log (_level, text) { logged.push(text) } },
      new AbortController().signal
    )
    return { ...outcome, isolation, logged }
  }
  return { executor, lines, run }
}

/** The path of a module with tools for tests. */
export function scriptModule (name: string): string {
  return fileURLToPath(new URL(`../fixtures/executor-worker/${name}.mjs`, import.meta.url))
}

/** A call of a tool of such a module by a skill that is not trusted. */
export function scriptCall (
  module: string, name: string, parameters: JsonObject = {}, permissions: Permissions = {},
  skill: Partial<SkillDefinition> = {}
): Call {
  const whole = { network: false, write: [], env: [], secrets: [], ...permissions }
  return callOf('script', { name }, parameters, {
    module: scriptModule(module), trusted: false, permissions: whole, ...skill
  })
}
