import { basename, join } from 'node:path'
import { compileCheck, ScriptFrame, ScriptTools, type Check } from '../../../kernel/index.ts'
import { buildModule } from './build.ts'
import type { Exported, ExportedTool } from './exported.ts'
import { firstLine, isThere, moduleBytesMax, refuseUnlessSmall, SkillFault } from '../shared/files.ts'
import { MODULES } from '../../toolkit/skill-folder.ts'
import type { DescriberData, Folder } from '../shared/protocol.ts'
import type { BrokenTool, ToolSource } from '../shared/tools.ts'

let compiled: { frame: Check, tools: Check } | undefined
/** Compiled at the first check, since compiling takes a large part of a thread's start. */
const checks = (): { frame: Check, tools: Check } => compiled ??= {
  frame: compileCheck(ScriptFrame, 'module', { checked: true }),
  tools: compileCheck(ScriptTools, 'module/tools', { checked: true })
}

/** The description in a module's default export. */
export interface Script { file: ScriptFrame, tools: (ToolSource | BrokenTool)[] }

/**
 * Checks the description in a module's default export.
 * @throws SkillFault
 */
export function checkScript (path: string, { frame, tools }: Exported): Script {
  const name = basename(path)
  const fault = checks().frame(frame)?.replace(/^module(?=[/ ])/, () => name)
  if (fault !== undefined) throw new SkillFault(path, fault)
  // The check above guarantees the type.
  return { file: frame as ScriptFrame, tools: tools.map(tool => 'error' in tool ? tool : toolSource(tool, name)) }
}

/**
 * Builds a script skill's module.
 * @param inputs receives the files from which it was built, or that a failed build looked for
 * @returns absolute path of the built module
 * @throws SkillFault
 */
export async function prepareScript (
  path: string, revision: string, data: DescriberData, inputs: Set<string>
): Promise<string> {
  refuseUnlessSmall(path, moduleBytesMax)
  return await buildModule(path, revision, data, inputs)
}

/**
 * Builds the module of a folder, so that it is ready when the skill is described.
 * @throws SkillFault
 */
export async function buildScript ({ path, revision }: Folder, data: DescriberData): Promise<void> {
  const module = findModule(path, MODULES)
  if (module !== undefined) await prepareScript(module, revision, data, new Set())
}

/** Checks a tool. */
function toolSource ({ name, described }: Exclude<ExportedTool, BrokenTool>, file: string): ToolSource | BrokenTool {
  const tools: unknown = Object.fromEntries([[name, described]])
  const fault = checks().tools(tools)
  if (fault !== undefined) return { tool: firstLine(name), error: fault.replace(/^module(?=[/ ])/, () => file) }
  const [tool] = Object.values(tools as ScriptTools) // the check guarantees the type
  if (tool === undefined) return { tool: name, error: `${file} has no tool "${name}"` }
  const { parameters = {}, ...more } = tool
  return { ...more, name, parameters: Object.entries(parameters).map(([name, parameter]) => ({ ...parameter, name })) }
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
