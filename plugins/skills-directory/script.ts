import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileCheck, messageOf, ScriptFile, type Check } from '../../kernel/index.ts'
import { buildModule } from './build.ts'
import { firstLine, isThere, moduleBytesMax, refuseUnlessSmall, SkillFault } from './files.ts'
import { MODULES } from './list.ts'
import type { DescriberData, Folder } from './protocol.ts'
import type { ToolSource } from './tools.ts'

/** The most text, in characters, that a module may say of its tools. */
const descriptionMax = 4 * 1_048_576

let compiled: Check | undefined
/** Compiled when there is something to check: that takes a good part of a thread's start. */
const check: Check = value => (compiled ??= compileCheck(ScriptFile, 'module', { checked: true }))(value)

/** The built module, what its default export says of itself, and the files it was built from. */
export interface Script { module: string, file: ScriptFile, tools: ToolSource[], inputs: string[] }

/**
 * Builds a script skill's module, imports it and reads its description. This runs the module's code.
 * @throws SkillFault
 */
export async function readScript (path: string, revision: string, data: DescriberData): Promise<Script> {
  refuseUnlessSmall(path, moduleBytesMax)
  const { module, exported, inputs } = await importModule(path, revision, data)
  const name = basename(path)
  if (typeof exported !== 'object' || exported === null) throw new SkillFault(path, `${name} has no default export that is an object with tools`)
  const described = describe(path, exported)
  const wrong = check(described)?.replace(/^module(?=[/ ])/, name)
  if (wrong !== undefined) throw new SkillFault(path, wrong)
  const file = described as ScriptFile // the check above is what makes it one
  const tools = Object.entries(file.tools).map(([name, { parameters = {}, ...tool }]) =>
    ({ ...tool, name, parameters: Object.entries(parameters).map(([name, parameter]) => ({ ...parameter, name })) }))
  return { module, file, tools, inputs }
}

/** Builds the module of a folder, so that it is there when the skill is described. @throws SkillFault */
export async function buildScript ({ path, revision }: Folder, data: DescriberData): Promise<void> {
  const module = findModule(path, MODULES)
  if (module === undefined) return
  refuseUnlessSmall(module, moduleBytesMax)
  await buildModule(module, revision, data)
}

async function importModule (path: string, revision: string, data: DescriberData): Promise<{ module: string, exported: unknown, inputs: string[] }> {
  const { module, inputs } = await buildModule(path, revision, data)
  try {
    return { module, exported: await importDefault(module), inputs }
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

/** The default export as plain data, without its functions; a function that has no business there stays visible to the check. */
function describe (path: string, exported: object): unknown {
  const name = basename(path)
  let text
  try {
    const { tools, ...rest } = exported as { tools?: unknown } & Record<string, unknown>
    const described: unknown = typeof tools !== 'object' || tools === null
      ? tools
      : Object.fromEntries(Object.entries(tools).map(([tool, value]) => [tool, withoutRun(tool, value)]))
    text = JSON.stringify({ ...rest, tools: described }, (_key, value: unknown) => typeof value === 'function' ? '[function]' : value)
  } catch (error) {
    throw new SkillFault(path, `${name} has a default export that can't be read: ${firstLine(messageOf(error))}`, { cause: error })
  }
  if (text.length > descriptionMax) throw new SkillFault(path, `${name} describes its tools in ${text.length} characters; the most is ${descriptionMax}`)
  return JSON.parse(text)
}

function withoutRun (name: string, tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool
  const { run, ...rest } = tool as Record<string, unknown>
  if (typeof run !== 'function') throw new Error(`the tool "${name}" has no function "run"`)
  return rest
}

/** The module of a skill folder, if it has one. @throws SkillFault when it has several */
export function findModule (folder: string, names: readonly string[]): string | undefined {
  const found = names.filter(name => isThere(join(folder, name)))
  if (found.length > 1) throw new SkillFault(folder, `the folder has both ${found.join(' and ')}; keep one`)
  return found[0] === undefined ? undefined : join(folder, found[0])
}

