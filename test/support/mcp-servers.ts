import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Executor, Isolation, JsonObject, LogLevel, Outcome, SkillDefinition } from '../../kernel/index.ts'
import plugin from '../../plugins/executor-mcp/index.ts'
import type { Call } from '../../plugins/testing/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

/** The server of the tests' own; MODE in its environment says how it misbehaves. */
export const testServer = fileURLToPath(new URL('../fixtures/mcp-servers/server.mjs', import.meta.url))

export const folder = await mkdtemp(join(tmpdir(), 'skillet-mcp-'))

export async function removeFolder (): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

let skills = 0

/** A skill of the server of the tests' own. */
export function serverSkill (env: Record<string, string> = {}, target: JsonObject = {}): SkillDefinition {
  const name = `server-${++skills}`
  return {
    name, description: name, runtime: 'mcp', directory: folder, revision: '1', trusted: false, tools: [],
    permissions: { network: false, write: [], env: [], secrets: [] },
    target: {
      command: [process.execPath, testServer], env, cwd: folder, headers: {}, start_ms: 20_000, idle_ms: 60_000,
      list_file: join(folder, `${name}.json`), way: name, ...target
    }
  }
}

/** A call of a tool of such a skill. */
export function callOf (skill: SkillDefinition, tool: string, parameters: JsonObject = {}): Call {
  return {
    skill, parameters,
    tool: {
      name: tool, description: tool, parameters: [], input_schema: { type: 'object' }, secrets: [],
      target: { name: tool }
    }
  }
}

export interface Heard { progress: unknown[], logs: [LogLevel, string][], isolations: Isolation[] }

interface RunOptions { timeout_ms?: number, signal?: AbortSignal, secrets?: Record<string, string> }

/** Runs a call to its end. */
export async function runMcp (
  executor: Executor, call: Call, {
    timeout_ms = 60_000, signal = new AbortController().signal, secrets = {}
  }: RunOptions = {}
): Promise<Outcome & { heard: Heard }> {
  const heard: Heard = { progress: [], logs: [], isolations: [] }
  const outcome = await executor.run({ execution_id: 'run', ...call, timeout_ms, config: {}, secrets }, {
    started (isolation) { heard.isolations.push(isolation) },
    progress (...report) { heard.progress.push(report) },
    log (level, text) { heard.logs.push([level, text]) }
  }, signal)
  return { ...outcome, heard }
}

/** An executor for one test, whose servers run without a sandbox. */
export async function openMcp (t: Test, config: JsonObject = {}): Promise<{
  executor: Executor, close: () => Promise<void>
}> {
  const { service: executor, close } = await openPlugin(plugin, { config: { isolation: { mode: 'off' }, ...config } })
  t.teardown(close)
  return { executor, close }
}
