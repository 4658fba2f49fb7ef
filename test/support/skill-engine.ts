import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import {
  execute, messageOf, SkilletError, type JsonObject, type Kernel, type LoadedSkills
} from '../../kernel/index.ts'
import container from '../../plugins/executor-container/index.ts'
import native from '../../plugins/executor-native/index.ts'
import worker from '../../plugins/executor-worker/index.ts'
import engineExecutor from '../../plugins/skill-engine/executor/index.ts'
import engine from '../../plugins/skill-engine/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { startKernel } from './kernel.ts'

const fixtures = fileURLToPath(new URL('../../../test/fixtures/skill-engine/', import.meta.url))

export interface ExpectedCall {
  tool: string
  parameters: JsonObject
  instance?: string
  without_config?: boolean
  expect: { command?: string[], output?: string, error?: { code: string, message_has: string } }
}
export interface ExpectedSkill {
  name: string
  description: string
  version: string
  tools: { name: string, description: string, parameters: JsonObject }[]
  notes: string[]
  calls: ExpectedCall[]
  services?: { name: string }[]
}
export interface Expected {
  load: 'folder' | 'directory'
  environment?: Record<string, string>
  unset?: string[]
  skills: ExpectedSkill[]
  refused: { folder?: string, name?: string, reason: string, message_has: string }[]
}

/** A sample, copied to a folder of its own, with its variables set until the end of the test. */
export async function sampleFor (t: Test, name: string): Promise<{ folder: string, expected: Expected }> {
  const home = await temporary(t)
  const folder = join(home, name)
  await cp(join(fixtures, name), folder, { recursive: true })
  const expected = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8')) as Expected
  const unset = Object.fromEntries((expected.unset ?? []).map(key => [key, undefined]))
  setVariables(t, { ...unset, ...expected.environment })
  return { folder, expected }
}

/** A folder that is removed at the end of the test. */
export async function temporary (t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-engine-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Sets variables of this process until the end of the test. */
export function setVariables (t: Test, variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name]
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}

/** A folder of files, by their paths. */
export async function folderOf (t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporary(t)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

/** What the source loads from these directories. */
export async function loadFrom (
  t: Test, directories: string[], options: JsonObject = {}, config: JsonObject = {}
): Promise<LoadedSkills> {
  const plugin = { 'skill-engine': { directories, ...options } }
  const opened = await openPlugin(engine, { config: { ...config, plugin } })
  t.teardown(() => opened.close())
  return await opened.service.load(new AbortController().signal)
}

/** Programs that print their arguments, each behind a sign that no argument of a test holds, in front of PATH. */
export async function fakePrograms (t: Test, ...names: string[]): Promise<void> {
  const folder = await temporary(t)
  for (const name of names) {
    await writeFile(join(folder, name), `#!/bin/sh\nprintf '${name}'\nfor word in "$@"; do printf '\\037%s' "$word"; done\n`)
    await chmod(join(folder, name), 0o755)
  }
  setVariables(t, { PATH: `${folder}:${process.env['PATH'] ?? ''}` })
}

/** A kernel with the real executors and the skills of these directories. */
export async function openEngine (
  t: Test, directories: string[], options: JsonObject = {}, config: JsonObject = {}
): Promise<Kernel> {
  const { kernel, close } = await startKernel({
    plugins: [worker, native, container, engineExecutor, engine],
    config: {
      // The fake programs of the tests are in a folder that the sandbox does not show.
      isolation: { mode: 'off' }, execution: { threads: 2 }, ...config,
      plugin: { 'skill-engine': { directories, ...options }, 'executor-native': { helpers: 1 } }
    }
  })
  t.teardown(close)
  return kernel
}

/** The output of a call, its words where a fake program printed it, or its error. */
export async function callTool (
  { gateway }: Kernel, skill_name: string, tool_name: string, parameters: JsonObject = {}
): Promise<{ output?: string, command?: string[], error?: { code: string, message: string } }> {
  try {
    const call = { transport: 'test', signal: new AbortController().signal }
    const { output } = await gateway.invoke(execute, { skill_name, tool_name, parameters }, call)
    return output.includes('\u001f') ? { command: output.split('\u001f') } : { output }
  } catch (error) {
    if (!(error instanceof SkilletError)) return { error: { code: 'unknown', message: messageOf(error) } }
    return { error: { code: error.code, message: error.message } }
  }
}
