import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileCheck, messageOf, ScriptFrame, ScriptTools, type Check } from '../../../kernel/index.ts'
import { buildModule } from './build.ts'
import { firstLine, isThere, moduleBytesMax, refuseUnlessSmall, SkillFault } from '../shared/files.ts'
import { MODULES } from '../../toolkit/skill-folder.ts'
import type { DescriberData, Folder } from '../shared/protocol.ts'
import type { BrokenTool, ToolSource } from '../shared/tools.ts'

/** Saved here before a module can replace them. */
const { parse, stringify } = JSON

/** The size limit of a module's description of its tools, in characters. */
const descriptionMax = 4 * 1_048_576

let compiled: { frame: Check, tools: Check } | undefined
/** Compiled at the first check, since compiling takes a large part of a thread's start. */
const checks = (): { frame: Check, tools: Check } => compiled ??= {
  frame: compileCheck(ScriptFrame, 'module', { checked: true }),
  tools: compileCheck(ScriptTools, 'module/tools', { checked: true })
}

/** The built module, and the description in its default export. */
export interface Script { module: string, file: ScriptFrame, tools: (ToolSource | BrokenTool)[] }

/**
 * Builds a script skill's module, imports it and reads its description. This runs the module's code.
 * @param inputs receives the files from which it was built, or that a failed build looked for
 * @throws SkillFault
 */
export async function readScript (
  path: string, revision: string, data: DescriberData, inputs: Set<string>
): Promise<Script> {
  refuseUnlessSmall(path, moduleBytesMax)
  const module = await buildModule(path, revision, data, inputs)
  const exported = await importModule(path, module)
  const name = basename(path)
  if (typeof exported !== 'object' || exported === null) {
    throw new SkillFault(path, `${name} has no default export that is an object with tools`)
  }
  const { frame, tools } = describe(path, exported)
  const fault = checks().frame(frame)?.replace(/^module(?=[/ ])/, () => name)
  if (fault !== undefined) throw new SkillFault(path, fault)
  // The check above guarantees the type.
  return {
    module,
    file: frame as ScriptFrame,
    tools: tools.map(tool => 'error' in tool ? tool : toolSource(tool, name))
  }
}

/**
 * Builds the module of a folder, so that it is ready when the skill is described.
 * @throws SkillFault
 */
export async function buildScript ({ path, revision }: Folder, data: DescriberData): Promise<void> {
  const module = findModule(path, MODULES)
  if (module === undefined) return
  refuseUnlessSmall(module, moduleBytesMax)
  await buildModule(module, revision, data, new Set())
}

async function importModule (path: string, module: string): Promise<unknown> {
  try {
    return await importDefault(module)
  } catch (error) {
    throw new SkillFault(path, thrown(path, error), { cause: error })
  }
}

async function importDefault (path: string): Promise<unknown> {
  const namespace: Record<string, unknown> = await import(pathToFileURL(path).href)
  return namespace['default']
}

function thrown (path: string, error: unknown): string {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return `${basename(path)} failed while it was imported: ${firstLine(message)}`
}

/** A tool as plain data, without its function. */
interface DescribedTool { name: string, described: unknown }

/** The default export as plain data without its functions, and each of its tools separately. */
function describe (path: string, exported: object): { frame: unknown, tools: (DescribedTool | BrokenTool)[] } {
  const name = basename(path)
  try {
    let length = 0
    const plain = (value: unknown): unknown => {
      const text = plainText(value)
      if ((length += text.length) > descriptionMax) {
        throw new SkillFault(path, `${name} describes its tools in more than ${descriptionMax} characters`)
      }
      return parse(text) as unknown
    }
    const { tools: exportedTools, ...rest } = exported as { tools?: unknown } & Record<string, unknown>
    if (typeof exportedTools !== 'object' || exportedTools === null) {
      return { frame: plain({ ...rest, tools: exportedTools }), tools: [] }
    }
    const names = Object.keys(exportedTools)
    const frame = plain({ ...rest, tools: Object.fromEntries(names.map(tool => [tool, 0])) })
    const tools = names.map(tool => {
      try {
        return { name: tool, described: plain(withoutRun(tool, Reflect.get(exportedTools, tool))) }
      } catch (error) {
        if (error instanceof SkillFault) throw error
        return { tool, error: unreadable(name, error) }
      }
    })
    return { frame, tools }
  } catch (error) {
    throw error instanceof SkillFault ? error : new SkillFault(path, unreadable(name, error), { cause: error })
  }
}

/** Converts a value to JSON; a function in a wrong place stays visible to the check. */
function plainText (value: unknown): string {
  return stringify(value, (_key, inner: unknown) => typeof inner === 'function' ? '[function]' : inner) ?? 'null'
}

function unreadable (name: string, error: unknown): string {
  return `${name} has a default export that can't be read: ${firstLine(messageOf(error))}`
}

/** Checks a tool. */
function toolSource ({ name, described }: DescribedTool, file: string): ToolSource | BrokenTool {
  const tools: unknown = Object.fromEntries([[name, described]])
  const fault = checks().tools(tools)
  if (fault !== undefined) return { tool: firstLine(name), error: fault.replace(/^module(?=[/ ])/, () => file) }
  const [tool] = Object.values(tools as ScriptTools) // the check guarantees the type
  if (tool === undefined) return { tool: name, error: `${file} has no tool "${name}"` }
  const { parameters = {}, ...more } = tool
  return { ...more, name, parameters: Object.entries(parameters).map(([name, parameter]) => ({ ...parameter, name })) }
}

function withoutRun (name: string, tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool
  const { run, ...rest } = tool as Record<string, unknown>
  if (typeof run !== 'function') throw new Error(`the tool "${name}" has no function "run"`)
  return rest
}

/**
 * The module of a skill folder, if it has one.
 * @throws SkillFault when it has several
 */
export function findModule (folder: string, names: readonly string[]): string | undefined {
  const modules = names.filter(name => isThere(join(folder, name)))
  if (modules.length > 1) throw new SkillFault(folder, `the folder has both ${modules.join(' and ')}; keep one`)
  return modules[0] === undefined ? undefined : join(folder, modules[0])
}
