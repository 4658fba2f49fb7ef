import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { messageOf, type ScriptNeeds, type ToolDefinition } from '../../../kernel/index.ts'
import { readNode } from './node-script.ts'
import type { Folder } from '../shared/protocol.ts'
import { readPython } from './python-script.ts'
import { aboutOf, headComment } from './script-comments.ts'
import { scriptFiles, SCRIPTS, type ScriptFile } from '../shared/script-files.ts'
import { instructionTexts, mentionOf, type Mention } from './script-mentions.ts'
import { nodePackages, packagesOf, pythonModules, requirementsOf } from './script-modules.ts'
import { nameAll } from './script-names.ts'
import type { NodeImports, PythonImport, ScriptReading } from './script-reading.ts'
import { headOf, isBinary, runnerOf, type Language } from './script-runner.ts'
import { toolOf, type Script } from './script-tool.ts'
import { usageIn } from './script-usage.ts'
import { readShell } from './shell-script.ts'

/** The maximum number of scripts of a folder that become tools. */
const scriptsMax = 100
/** The size up to which a script is read as a whole, in bytes; of a larger script only the beginning is read. */
const scriptBytesMax = 262_144
/** The number of characters, from the beginning, that are read of a script that can't be parsed. */
const headMax = 4_096

/**
 * Makes a tool of each program below `scripts/`. The tools run the scripts in their place, as commands. Files that are
 * not programs get no tool.
 */
export function scriptTools (
  folder: Folder,
  instructions: string,
  warn: (warning: string, at?: string) => void
): ToolDefinition[] {
  const files = scriptFiles(folder, warn)
  if (files.length === 0) return []
  const texts = instructionTexts(folder, instructions)
  const scripts: Script[] = []
  for (const file of files) {
    try {
      const script = look(file, mentionOf(texts, file.file))
      if (script !== undefined) scripts.push(script)
    } catch (error) {
      warn(`${SCRIPTS}/${file.file} can't be read: ${messageOf(error)}`, file.path)
    }
  }
  if (scripts.length > scriptsMax) {
    warn(`${SCRIPTS}/ has ${scripts.length} files that can be run; the first ${scriptsMax} are tools`, folder.path)
    scripts.length = scriptsMax
  }
  const names = nameAll(scripts.map(({ file }) => file))
  const needs = needsOf(folder, scripts, texts)
  return scripts.map((script, i) => toolOf(script, names[i] ?? script.file, folder, needs(script)))
}

/** Reads a file as a script; undefined when it is a library or not a script. */
function look ({ file, path }: ScriptFile, mention: Mention): Script | undefined {
  const stats = statSync(path)
  const head = headOf(path, Math.min(stats.size, scriptBytesMax))
  const text = head.toString('utf8').replaceAll('\r\n', '\n')
  const runner = runnerOf(path, head, (stats.mode & 0o111) !== 0)
  if (runner === undefined) return undefined
  const whole = stats.size <= scriptBytesMax && !isBinary(head)
  const reading = whole ? read(runner.language, text, mention, basename(file)) : { ...unread, program: false }
  if (!reading.program && !runner.marked && !mention.named) return undefined
  return { file, path, runner, reading, mention }
}

function read (language: Language | undefined, text: string, mention: Mention, name: string): ScriptReading {
  const clean = (usage: string): string =>
    usage.replaceAll(/\$\(basename[^)]*\)|\$\{?0\b[^}\s]*\}?|`basename[^`]*`/g, name)
  const reading = readAs(language, text, mention.usage)
  const least = Math.max(reading.least, reading.passes && mention.always ? 1 : 0)
  return { ...reading, least, ...(reading.usage !== undefined && { usage: clean(reading.usage) }) }
}

function readAs (language: Language | undefined, text: string, mentionedUsage: string | undefined): ScriptReading {
  try {
    switch (language) {
      case 'python':
        return readPython(text, mentionedUsage)
      case 'node':
        return readNode(text, mentionedUsage)
      case 'shell':
        return readShell(text, mentionedUsage)
      case undefined:
        return readOther(text, mentionedUsage)
    }
  } catch {
    // The parser fails on source that is nested too deeply or was generated; such a file is most often a library.
    return { ...readOther(text.slice(0, headMax), mentionedUsage), program: false }
  }
}

/** The reading of a script whose source was not understood. */
const unread: ScriptReading = { program: true, about: '', least: 0, passes: true, reads_stdin: true }

/** Reads a script in another language: only the comment at its beginning. */
function readOther (text: string, mentionedUsage: string | undefined): ScriptReading {
  const comment = headComment(text, text.startsWith('//') || text.startsWith('/*') ? '//' : '#')
  const usage = usageIn(comment) ?? mentionedUsage
  return { ...unread, about: aboutOf(comment), ...(usage !== undefined && { usage }) }
}

/** Finds the external packages that each script needs. Each module of the skill is read once. */
function needsOf (
  { path }: Folder,
  scripts: readonly Script[],
  texts: readonly string[]
): (script: Script) => ScriptNeeds | undefined {
  const [python, node] = [new Map<string, PythonImport[]>(), new Map<string, NodeImports>()]
  for (const {
    path,
    reading: { imports }
  } of scripts) {
    if (imports === undefined) continue
    if ('python' in imports) python.set(path, imports.python)
    else node.set(path, imports.node)
  }
  const requirements = scripts.some(({ runner }) => runner.language === 'python')
    ? requirementsOf(path, texts)
    : new Map<string, string>()
  return ({ path: file, runner: { language, interpreter }, reading: { inline } }) => {
    if (language === 'node')
      return {
        language,
        file,
        interpreter,
        modules: Object.fromEntries(nodePackages(file, path, node).map(name => [name, name]))
      }
    if (language !== 'python') return undefined
    const own = inline === undefined ? requirements : new Map([...requirements, ...requirementsOf(path, [], inline)])
    return {
      language,
      file,
      interpreter,
      modules: packagesOf(pythonModules(file, path, python), own),
      ...(inline !== undefined && { inline: true })
    }
  }
}
