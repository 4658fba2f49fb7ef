import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { firstLine, SkillFault } from '../shared/files.ts'

/*
 * Imports the module of a skill, in a thread or in a process of its own. This file and what it imports use nothing of
 * the kernel, which would take most of the time of such a process.
 */

/** Saved here before a module can replace them. */
const { parse, stringify } = JSON

/** The size limit of a module's description of its tools, in characters. */
const descriptionMax = 4 * 1_048_576

/** A tool as plain data, without its function; or why it can't be read. */
export type ExportedTool = { name: string, described: unknown } | { tool: string, error: string }

/** The default export of a module as plain data without its functions, and each of its tools separately. */
export interface Exported { frame: unknown, tools: ExportedTool[] }

/**
 * Imports a built module and reads its default export. This runs the module's code.
 * @param path the file of the skill of which the module was built
 * @throws SkillFault
 */
export async function importExported (path: string, module: string): Promise<Exported> {
  const exported = await importModule(path, module)
  if (typeof exported !== 'object' || exported === null) {
    throw new SkillFault(path, `${basename(path)} has no default export that is an object with tools`)
  }
  return describe(path, exported)
}

async function importModule (path: string, module: string): Promise<unknown> {
  try {
    const namespace: Record<string, unknown> = await import(pathToFileURL(module).href)
    return namespace['default']
  } catch (error) {
    throw new SkillFault(path, thrown(path, error), { cause: error })
  }
}

function thrown (path: string, error: unknown): string {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return `${basename(path)} failed while it was imported: ${firstLine(message)}`
}

function describe (path: string, exported: object): Exported {
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

/** The message of any thrown value: it may be one that has no text. */
function messageOf (thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return 'a value was thrown that can\'t be described'
  }
}

function withoutRun (name: string, tool: unknown): unknown {
  if (typeof tool !== 'object' || tool === null) return tool
  const { run, ...rest } = tool as Record<string, unknown>
  if (typeof run !== 'function') throw new Error(`the tool "${name}" has no function "run"`)
  return rest
}
