import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Executor, JsonObject, ParameterDescriptor, SkillDefinition } from '../../kernel/index.ts'
import container from '../../plugins/executor-container/index.ts'
import native from '../../plugins/executor-native/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'
import { parseCommand } from '../../plugins/toolkit/parse-command.ts'
import { asTarget, type ContainerSpec } from '../../plugins/toolkit/container/spec.ts'
import type { Call } from '../conformance/executor.ts'

const source = fileURLToPath(new URL('../../../test/support/fake-engine.sh', import.meta.url))

/** A container engine of the test's own: see fake-engine.sh. */
export interface FakeEngine {
  folder: string
  file: string
  /** The arguments of each of its calls. */
  calls (): Promise<string[][]>
  /** The arguments of its last `run`. */
  lastRun (): Promise<string[]>
  /** The names of the containers that exist. */
  containers (): Promise<string[]>
}

/** A folder that is removed at the end of the test. */
export async function temporaryFolder (t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-container-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export async function fakeEngine (t: Test, name = 'docker'): Promise<FakeEngine> {
  const folder = await temporaryFolder(t)
  const file = join(folder, name)
  await copyFile(source, file)
  await chmod(file, 0o755)
  await mkdir(join(folder, 'containers'))
  const calls = async (): Promise<string[][]> => {
    const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '')
    return text.split('\n--\n').filter(call => call !== '').map(call => call.split('\n'))
  }
  return {
    folder, file, calls,
    lastRun: async () => (await calls()).findLast(call => call.includes('run')) ?? [],
    containers: async () =>
      (await readdir(join(folder, 'containers'))).filter(name => !name.endsWith('.labels'))
  }
}

/** The executors of containers and of commands. Containers are left alone by the helper in Node, as by an engine. */
export async function openContainers (
  options: JsonObject, config: JsonObject = {}, data_dir?: string
): Promise<{ executor: Executor, close (): Promise<void> }> {
  const plugins = {
    plugin: { 'executor-native': { helpers: 1, helper: 'node' }, 'executor-container': options }
  }
  const commands = await openPlugin(native, { config: { ...config, ...plugins } })
  const { isolation = {} } = config
  const { service: executor, close } = await openPlugin(container, {
    config: { isolation, ...plugins }, ...(data_dir !== undefined && { data_dir })
  })
  executor.connect?.(new Map([['native', commands.service]]))
  return {
    executor,
    async close () {
      await close()
      await commands.close()
    }
  }
}

interface More {
  spec?: Partial<ContainerSpec>
  permissions?: Partial<SkillDefinition['permissions']>
  skill?: Partial<SkillDefinition>
  stdin?: string
  env?: Record<string, string>
}

/** A call of a command in a container; placeholders are parameters of these names. */
export function containerCall (
  command: string[], parameters: JsonObject = {}, { spec = {}, permissions = {}, skill = {}, ...more }: More = {}
): Call {
  const descriptors = Object.entries(parameters).map(([name, value]): ParameterDescriptor =>
    ({ name, type: Array.isArray(value) ? 'array' : 'string', description: name, required: true, allow_dash: true }))
  const tool = { name: 'tool', command: parseCommand({ command, ...more }, descriptors) }
  return callOf('container', tool, parameters, {
    target: asTarget({ image: 'box:1', ...spec }),
    permissions: { network: false, write: [], env: [], secrets: [], ...permissions },
    ...skill
  })
}

/** A call of a shell script in a container; `$1` and so on are the arguments. */
export function shellInContainer (script: string, args: string[] = [], more: More = {}): Call {
  return containerCall(['sh', '-c', '{{script}}', 'sh', '{{...args}}'], { script, args }, more)
}
