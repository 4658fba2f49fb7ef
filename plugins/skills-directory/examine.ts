import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isServersOwn, messageOf, type Finding, type ScriptNeeds, type SkillDefinition } from '../../kernel/index.ts'
import { mapAtMost } from './shared/at-most.ts'

/**
 * How long an interpreter may take to report the modules that it finds, in milliseconds, and how many interpreters run
 * at once.
 */
const ask_ms = 4_000
const askedMax = 4
const namedMax = 8

interface Need {
  skill: string
  tool: string
  script: ScriptNeeds
}

/**
 * Finds the imports of scripts in Agent Skills folders that their interpreter does not find here. No code of a skill
 * runs or is imported: Python is asked for the location of each module, and packages for Node.js are looked up in the
 * folders that Node.js searches.
 */
export async function examine (skills: readonly SkillDefinition[], signal: AbortSignal): Promise<Finding[]> {
  const needs = skills.flatMap(({ name, tools }) =>
    tools.flatMap(({ name: tool, script }): Need[] => (script === undefined ? [] : [{ skill: name, tool, script }]))
  )
  const python = new Map<string, Need[]>()
  for (const need of needs.filter(({ script }) => script.language === 'python' && script.interpreter[0] !== 'uv')) {
    const [interpreter = 'python3'] = need.script.interpreter
    python.set(interpreter, [...(python.get(interpreter) ?? []), need])
  }
  const findings = await mapAtMost(
    askedMax,
    [...python],
    async ([interpreter, needs]) => await examinePython(interpreter, needs, signal)
  )
  return [...findings.flat(), ...examineNode(needs.filter(({ script }) => script.language === 'node'))]
}

async function examinePython (interpreter: string, needs: readonly Need[], signal: AbortSignal): Promise<Finding[]> {
  let missing
  try {
    missing = await askPython(
      interpreter,
      needs.map(({ script }) => Object.keys(script.modules)),
      signal
    )
  } catch (error) {
    signal.throwIfAborted()
    const skills = few([...new Set(needs.map(({ skill }) => skill))])
    const why = messageOf(error).split('\n', 1)[0] ?? ''
    const text = `it can't be asked which modules it finds: ${why}; needed by ${skills}`
    return [{ level: 'problem', about: `interpreter ${interpreter}`, text }]
  }
  const lacks = new Map<string, { modules: Set<string>, tools: Set<string>, requirements: Set<string> }>()
  for (const [i, { skill, tool, script }] of needs.entries()) {
    const names = missing[i] ?? []
    if (names.length === 0) continue
    const lack = lacks.get(skill) ?? { modules: new Set(), tools: new Set(), requirements: new Set() }
    lacks.set(skill, lack)
    lack.tools.add(tool)
    for (const name of names) {
      lack.modules.add(name)
      lack.requirements.add(quoted(script.modules[name] ?? name))
    }
  }
  return [...lacks].map(([skill, { modules, tools, requirements }]): Finding => ({
    level: 'problem',
    about: `skill ${skill}`,
    text: `${interpreter} does not find ${few([...modules], namedMax)}; needed by ${few([...tools])}`,
    remedy: `${interpreter} -m pip install ${[...requirements].join(' ')}, ` +
      `or name a virtual environment that has them: [skills.config.${skill}] python = "…/venv"`
  }))
}

/** Prints the modules that Python does not find, for each list. Finding a module does not import it. */
const program = `
import json, sys
from importlib.util import find_spec
sys.path[:] = [path for path in sys.path if path != '']
def missing(name):
    try:
        return find_spec(name) is None
    except (ImportError, ValueError):
        return False
print(json.dumps([[name for name in names if missing(name)] for names in json.load(sys.stdin)]))
`

function askPython (interpreter: string, modules: readonly string[][], signal: AbortSignal): Promise<string[][]> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      interpreter,
      ['-c', program],
      { signal, timeout: ask_ms, maxBuffer: 1_048_576, env: environment() },
      (error, stdout, stderr) => {
        if (error !== null) reject(new Error(stderr.trim().split('\n').at(-1) || error.message, { cause: error }))
        else resolve(parse(stdout, modules.length))
      }
    )
    child.stdin?.on('error', () => {}) // the process ended before it read its input; this is reported above
    child.stdin?.end(JSON.stringify(modules))
  })
}

function parse (text: string, length: number): string[][] {
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) && value.length === length
    ? value.map(names => (Array.isArray(names) ? names.filter(name => typeof name === 'string') : []))
    : []
}

/** The variables in the environment of a skill's command that affect how Python finds modules. */
function environment (): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => ['PATH', 'HOME', 'LANG', 'TMPDIR', 'SYSTEMROOT'].includes(name) && !isServersOwn(name)
    )
  )
}

function examineNode (needs: readonly Need[]): Finding[] {
  return needs.flatMap(({ skill, tool, script }): Finding[] => {
    const missing = Object.keys(script.modules).filter(name => !isInstalled(name, dirname(script.file)))
    if (missing.length === 0) return []
    return [
      {
        level: 'problem',
        about: `skill ${skill}`,
        text: `packages for Node.js are missing: ${few(missing, namedMax)}; needed by ${tool}`,
        remedy: `npm install --prefix ${dirname(script.file)} ${missing.join(' ')}`
      }
    ]
  })
}

/** Whether a package is where Node.js looks for it: in the `node_modules` of a folder, or of a folder above it. */
function isInstalled (name: string, folder: string): boolean {
  if (statSync(join(folder, 'node_modules', name), { throwIfNoEntry: false }) !== undefined) return true
  return dirname(folder) !== folder && isInstalled(name, dirname(folder))
}

/** Quotes a requirement for a shell. */
function quoted (requirement: string): string {
  return /^[\w.-]+$/.test(requirement) ? requirement : `'${requirement}'`
}

function few (names: readonly string[], most = 4): string {
  return names.length <= most
    ? names.join(', ')
    : `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`
}
