import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  compileInputSchema, completeConfig, configSchema, createKernel, definePlugin, sectionsOf, silentLogger,
  type AnyPlugin, type ConcurrencyRule, type JsonObject, type Kernel, type LoadedSkills, type Logger,
  type ParameterDescriptor, type Secrets, type SkillDefinition, type ToolDefinition
} from '../../kernel/index.ts'
import { inlineExecutor, type InlineTool } from '../../plugins/executor-inline/index.ts'
import storageMemory from '../../plugins/storage-memory/index.ts'
import { exactSearch } from '../../plugins/testing/exact-search.ts'
import { skillOf } from '../../plugins/testing/skill.ts'

/** A source that gives what it was made with. */
export function skillSource (loaded: LoadedSkills, name = 'skills-given'): AnyPlugin {
  return definePlugin({ name, slot: 'skills', setup: () => ({ load: async () => loaded }) })
}

/** A service with some of its methods replaced; the others are still its own. */
export function overriding<Service extends object> (service: Service, over: Partial<Service>): Service {
  return new Proxy(service, {
    get (target, key) {
      const value: unknown = Reflect.get(key in over ? over : target, key)
      return typeof value === 'function' ? value.bind(key in over ? over : target) : value
    }
  })
}

/** A tool for the inline executor: its function and its parameters. */
export interface TestTool {
  run: InlineTool
  parameters?: (Partial<ParameterDescriptor> & { name: string })[]
  secrets?: string[]
  timeout_ms?: number
  concurrency?: ConcurrencyRule
}

/** A skill named `subject` whose tools are these functions. */
export function subjectOf (
  tools: Readonly<Record<string, TestTool>>
): { plugins: AnyPlugin[], skill: SkillDefinition } {
  const definitions = Object.entries(tools)
    .map(([name, { parameters = [], secrets = [], timeout_ms, concurrency }]): ToolDefinition => {
      const descriptors = parameters.map((parameter): ParameterDescriptor =>
        ({ type: 'string', description: 'A parameter', required: false, ...parameter }))
      return {
        name, description: `The tool ${name}`, parameters: descriptors, input_schema: compileInputSchema(descriptors),
        secrets, ...(timeout_ms !== undefined && { timeout_ms }), ...(concurrency !== undefined && { concurrency })
      }
    })
  const { skill } = skillOf('inline', { name: 'unused' }, { tools: definitions })
  const functions = Object.fromEntries(Object.entries(tools).map(([name, { run }]) => [`subject:${name}`, run]))
  return { skill, plugins: [inlineExecutor({ tools: functions }), skillSource({ skills: [skill], quarantined: [] })] }
}

export interface TestKernelOptions {
  tools?: Readonly<Record<string, TestTool>>
  config?: JsonObject
  /** Beside, or after, the built-in test plugins. */
  plugins?: readonly AnyPlugin[]
  storage?: AnyPlugin
  search?: AnyPlugin
  log?: Logger
  role?: string
  data_dir?: string
  secrets?: Secrets
  prepareSearch?: boolean
  search_patience_ms?: number
}

/** Boots a kernel on the memory store and the inline executor. `close` stops it and removes its data directory. */
export async function startKernel ({
  tools = {}, config = {}, plugins = [], storage = storageMemory, search = exactSearch, log = silentLogger, role,
  data_dir, secrets, prepareSearch = false, search_patience_ms = 0
}: TestKernelOptions = {}): Promise<{ kernel: Kernel, close: () => Promise<void> }> {
  const directory = data_dir ?? await mkdtemp(join(tmpdir(), 'skillet-kernel-'))
  const remove = (): Promise<void> =>
    data_dir === undefined ? rm(directory, { recursive: true, force: true }) : Promise.resolve()
  const all = [storage, search, ...subjectOf(tools).plugins, ...plugins]
  try {
    const kernel = await createKernel({
      config: completeConfig(config, configSchema(all.flatMap(sectionsOf))),
      plugins: all,
      ...(secrets !== undefined && { secrets }),
      log,
      version: { version: '1.2.3', commit: 'abc', build_date: '2026-01-02' },
      data_dir: directory,
      prepareSearch,
      search_patience_ms,
      ...(role !== undefined && { role })
    }, new AbortController().signal)
    return {
      kernel,
      async close () {
        await kernel.stop()
        await remove()
      }
    }
  } catch (error) {
    await remove()
    throw error
  }
}
