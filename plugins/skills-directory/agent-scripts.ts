import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync } from 'node:fs'
import { extname, join, sep } from 'node:path'
import { messageOf, type ToolDefinition } from '../../kernel/index.ts'
import { isThere } from './files.ts'
import type { Folder } from './protocol.ts'
import { SCRIPTS } from './revision.ts'
import { defineTools } from './tools.ts'

/** The most scripts of a folder that are tools. */
const scriptsMax = 100
/** What is read of a script to see what it is, in bytes. */
const headBytes = 4_096
/** Names that the folder's other tools have. */
const taken = ['instructions', 'read', 'list']

/** What runs a script that does not say it itself, by its ending. Node.js is the one that runs this program. */
const interpreters: Readonly<Record<string, readonly string[]>> = {
  '.py': ['python3'],
  '.sh': ['bash'],
  '.js': [process.execPath],
  '.mjs': [process.execPath],
  '.cjs': [process.execPath],
  '.ts': [process.execPath, '--import', new URL('./typescript.js', import.meta.url).href]
}

interface Script { file: string, command: readonly string[], about: string }

/** A tool for each file of `scripts/` that can be run. They run as commands, from where they lie. */
export function scriptTools ({ path, real_path }: Folder, warn: (warning: string, at?: string) => void): ToolDefinition[] {
  const folder = join(path, SCRIPTS)
  if (!isThere(folder)) return []
  const scripts: Script[] = []
  for (const file of namesIn(folder, warn)) {
    if (file.startsWith('.') || file === '__init__.py' || file.endsWith('.d.ts')) continue
    try {
      if (!realpathSync(join(folder, file)).startsWith(real_path + sep)) {
        warn(`${SCRIPTS}/${file} is a link that leads out of the folder, and no tool`, join(folder, file))
        continue
      }
      const script = look(folder, file)
      if (script !== undefined) scripts.push(script)
    } catch (error) {
      warn(`${SCRIPTS}/${file} can't be read: ${messageOf(error)}`, join(folder, file))
    }
  }
  if (scripts.length > scriptsMax) {
    warn(`${SCRIPTS}/ has ${scripts.length} files that can be run; the first ${scriptsMax} are tools`, folder)
    scripts.length = scriptsMax
  }
  const names = nameAll(scripts.map(({ file }) => file))
  const sources = scripts.map(({ file, about }, i) => ({
    name: names[i] ?? file,
    description: `Run ${SCRIPTS}/${file}${about === '' ? '' : `: ${about}`}`,
    parameters: [
      { name: 'arguments', type: 'array' as const, description: 'Command-line arguments', items: { type: 'string' }, default: [], maxItems: 1000, allow_dash: true },
      { name: 'stdin', type: 'string' as const, description: 'Standard input', default: '' }
    ]
  }))
  return defineTools(sources).map((tool, i) => {
    const [program = '', ...fixed] = scripts[i]?.command ?? []
    return {
      ...tool,
      runtime: 'native',
      command: {
        program,
        parts: [...fixed.map(literal => ({ kind: 'argument' as const, pieces: [{ literal }] })), { kind: 'spread' as const, parameter: 'arguments' }],
        stdin: [{ parameter: 'stdin' }],
        dashes: ['arguments']
      }
    }
  })
}

function namesIn (folder: string, warn: (warning: string, at?: string) => void): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    warn(`${SCRIPTS}/ can't be read: ${messageOf(error)}`, folder)
    return []
  }
}

/** How a file is run, if it can be: by itself, by what its first line names, or by what its ending tells. */
function look (folder: string, file: string): Script | undefined {
  const path = join(folder, file)
  const stats = statSync(path)
  if (!stats.isFile()) return undefined // never opened: a FIFO would wait
  const head = headOf(path)
  const text = head.toString('utf8')
  const executable = (stats.mode & 0o111) !== 0
  const about = summaryOf(text)
  const [, line] = /^#!\s*([^\n]*)/.exec(text) ?? []
  if (line !== undefined) {
    const words = line.trim().split(/\s+/)
    if (executable && !line.endsWith('\r')) return { file, command: [path], about }
    const [program = '', ...rest] = words[0]?.endsWith('/env') === true ? words.slice(words[1] === '-S' ? 2 : 1) : words
    return program === '' ? undefined : { file, command: [program, ...rest, path], about }
  }
  const interpreter = interpreters[extname(file).toLowerCase()]
  if (interpreter !== undefined) return { file, command: [...interpreter, path], about }
  if (!executable) return undefined
  if (isBinary(head)) return { file, command: [path], about: '' }
  // What a shell would do. Files with another ending are data whose mode was lost on the way.
  return extname(file) === '' ? { file, command: ['sh', path], about } : undefined
}

/** ELF, and the four of Mach-O. */
function isBinary (head: Buffer): boolean {
  return ['7f454c46', 'feedfacf', 'cffaedfe', 'feedface', 'cafebabe'].includes(head.toString('hex', 0, 4))
}

function headOf (path: string): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const head = Buffer.alloc(headBytes)
    return head.subarray(0, readSync(descriptor, head, 0, headBytes, 0))
  } finally {
    closeSync(descriptor)
  }
}

/** The first sentence or line of what a script says of itself: a docstring, or a comment at its beginning. */
function summaryOf (text: string): string {
  const code = text.replace(/^#!.*\n/, '').replace(/^(?:\s*#.*coding[:=].*\n)?\s*/, '')
  const [, , docstring] = /^[rRuU]?("""|''')([\s\S]*?)(?:\1|$)/.exec(code) ?? []
  const [, block] = /^\/\*+([\s\S]*?)(?:\*\/|$)/.exec(code) ?? []
  const [comment] = /^(?:(?:#|\/\/).*\n?)+/.exec(code) ?? []
  const said = docstring ?? block?.replace(/^\s*\* ?/gm, '') ?? comment?.replace(/^(?:#+|\/\/+)[ \t]?/gm, '') ?? ''
  const paragraph = said.trim().split(/\n\s*\n/)[0]?.replace(/\s+/g, ' ').trim() ?? ''
  return paragraph.length > 500 ? `${paragraph.slice(0, 499)}…` : paragraph
}

/** Names of tools: a file's without its ending; where several have that, or another tool does, the whole name. */
function nameAll (files: readonly string[]): string[] {
  const clean = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 64) || 'script'
  const stem = (file: string): string => clean(file.slice(0, file.length - extname(file).length))
  const count = new Map<string, number>(taken.map(name => [name, 1]))
  for (const file of files) count.set(stem(file), (count.get(stem(file)) ?? 0) + 1)
  const used = new Set<string>(taken)
  return files.map(file => {
    const wanted = count.get(stem(file)) === 1 ? stem(file) : clean(file)
    let name = wanted
    for (let i = 2; used.has(name); i++) name = `${wanted.slice(0, 60)}_${i}`
    used.add(name)
    return name
  })
}
