import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { execute, getExecution, messageOf, SkilletError, type JsonObject, type Kernel } from '../../kernel/index.ts'
import worker from '../../plugins/executor-worker/index.ts'
import wasm from '../../plugins/executor-wasm/index.ts'
import directory from '../../plugins/skills-directory/index.ts'
import { startKernel } from './kernel.ts'

/** A file of test/fixtures/wasm. */
export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../test/fixtures/wasm/${name}`, import.meta.url))

/** A folder that is removed at the end of the test. It is not in /tmp, of which a sandbox has one of its own. */
export async function folderFor (t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp('/var/tmp/skillet-wasm-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A `skill.toml` whose one tool, `run`, passes words to a command. */
export const manifestOf = (file: string, more = '', tool = ''): string => `
description = "A command in WebAssembly"
runtime = "wasm"
${more}
[[tools]]
name = "run"
description = "Run it"
command = ["${file}", "{{...words}}"]
stdin = "{{input}}"
env = { LEVEL = "3" }
${tool}
[[tools.parameters]]
name = "words"
type = "array"
items = { type = "string" }
default = []
description = "Its arguments"
allow_dash = true
[[tools.parameters]]
name = "input"
type = "string"
description = "Its standard input"
`

/** Writes a skill: a manifest and files of WebAssembly, by their names. */
export async function putSkill (
  directory: string, name: string, manifest: string, files: Readonly<Record<string, string | Uint8Array>>
): Promise<void> {
  const folder = join(directory, name)
  await mkdir(folder, { recursive: true })
  for (const [file, content] of Object.entries(files)) {
    if (typeof content === 'string') await cp(content, join(folder, file))
    else await writeFile(join(folder, file), content)
  }
  await writeFile(join(folder, 'skill.toml'), manifest)
}

/** A kernel with the skills of a directory. */
export async function openSkills (
  t: Test, skills: string, { trusted = true, ...config }: JsonObject & { trusted?: boolean } = {}
): Promise<Kernel> {
  const { kernel, close } = await startKernel({
    plugins: [worker, wasm, directory],
    config: {
      skills: { bundled: false, directories: [skills], trusted: trusted ? [skills] : [] },
      ...(!trusted && { isolation: { mode: 'required' } }),
      ...config,
      plugin: { 'skills-directory': { watch: 'off', patience_ms: 0 } }
    }
  })
  t.teardown(close)
  return kernel
}

export interface Said {
  output?: string
  isolation?: string | null
  error?: { code: string, message: string, details?: JsonObject }
}

/** Runs the tool `run` of a skill, and tells its output or its error. */
export async function runTool (
  { gateway }: Kernel, skill_name: string, words: string[] = [], more: JsonObject = {}
): Promise<Said> {
  const { timeout_ms, ...parameters } = more
  try {
    const call = { transport: 'test', signal: new AbortController().signal }
    const { output, execution_id } = await gateway.invoke(execute, {
      skill_name, tool_name: 'run', parameters: { words, ...parameters },
      ...(timeout_ms !== undefined && { timeout_ms })
    }, call)
    const { isolation } = await gateway.invoke(getExecution, { id: execution_id }, call)
    return { output, isolation: isolation ?? null }
  } catch (error) {
    if (!(error instanceof SkilletError)) return { error: { code: 'unknown', message: messageOf(error) } }
    return { error: { code: error.code, message: error.message, details: error.details } }
  }
}
