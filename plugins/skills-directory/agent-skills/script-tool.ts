import { basename, dirname } from 'node:path'
import type { CommandTemplate, ScriptNeeds, ToolDefinition } from '../../../kernel/index.ts'
import type { Folder } from '../shared/protocol.ts'
import { callOf, usageLine, type ScriptCall } from './script-arguments.ts'
import { SCRIPTS, type ScriptFile } from '../shared/script-files.ts'
import type { Mention } from './script-mentions.ts'
import type { ScriptReading } from './script-reading.ts'
import type { Runner } from './script-runner.ts'
import { defineTools, type ParameterSource } from '../shared/tools.ts'

/** The maximum length of the usage in an error, and of a tool's description, in characters. */
const usageMax = 500
const descriptionMax = 2_000

/** A program below `scripts/`. */
export interface Script extends ScriptFile {
  runner: Runner
  reading: ScriptReading
  mention: Mention
}

/** Makes the tool that runs a script. Its parameters are the script's arguments, or a list of any arguments. */
export function toolOf (script: Script, name: string, folder: Folder, needs: ScriptNeeds | undefined): ToolDefinition {
  const { file, reading } = script
  const { interface: signature } = reading
  const usage =
    reading.usage
    ?? (signature === undefined || signature.arguments.length === 0 ? undefined : usageLine(basename(file), signature))
  const read = signature === undefined ? undefined : callOf(signature)
  const tool = read === undefined ? undefined : tried(script, name, read)
  const call = read === undefined || tool === undefined ? anyArguments(script) : read
  const line = usage?.split('\n').find(line => !line.startsWith('#'))
  return {
    ...(tool ?? defined(script, name, call, usage)),
    runtime: 'native',
    command: commandOf(script, folder, call),
    ...(line !== undefined && { usage: cut(line, usageMax) }),
    ...(needs !== undefined && { script: needs })
  }
}

/** Makes a tool with the parameters that were read; undefined when a tool can't have such parameters. */
function tried (script: Script, name: string, call: ScriptCall): ToolDefinition | undefined {
  try {
    return defined(script, name, call, undefined)
  } catch {
    return undefined
  }
}

/** @param usage the usage that the description shows */
function defined (
  { file, reading: { about, reads_stdin } }: Script,
  name: string,
  { parameters, rules }: ScriptCall,
  usage: string | undefined
): ToolDefinition {
  const summary = `Run ${SCRIPTS}/${file}${about === '' ? '' : `: ${about}`}`
  const description = usage === undefined ? summary : `${summary}${/[.!?…]$/.test(summary) ? '' : '.'} Usage: ${usage}`
  const all = reads_stdin && !parameters.some(({ name }) => name === stdin.name) ? [...parameters, stdin] : parameters
  const [tool] = defineTools([
    { name, description: cut(description, descriptionMax), parameters: all, ...(rules !== undefined && { rules }) }
  ])
  if (tool === undefined) throw new Error(`${file} makes no tool`)
  return tool
}

function commandOf (
  {
    path,
    runner: {
      language,
      command: [program = '', ...fixed]
    },
    reading
  }: Script,
  { path: folder }: Folder,
  { parameters, template }: ScriptCall
): CommandTemplate {
  const reads = reading.reads_stdin || parameters.some(({ name }) => name === stdin.name)
  return {
    program,
    parts: [...fixed.map(literal => ({ kind: 'argument' as const, pieces: [{ literal }] })), ...template.parts],
    dashes: template.dashes,
    ...(reads && { stdin: [{ parameter: stdin.name }] }),
    // Scripts import each other from their own folder, and from the skill's: `from scripts.utils import …`.
    // Python must not write `__pycache__` there: a skill whose folder has changed is no longer trusted.
    ...(language === 'python' && {
      env: {
        PYTHONPATH: [{ literal: [folder, dirname(path)].join(':') }],
        PYTHONDONTWRITEBYTECODE: [{ literal: '1' }]
      }
    })
  }
}

const stdin: ParameterSource = { name: 'stdin', type: 'string', description: 'Standard input', default: '' }

/** A list of any arguments, for a script whose arguments are not known. */
function anyArguments ({ reading: { least } }: Script): ScriptCall {
  const parameter: ParameterSource = {
    name: 'arguments',
    type: 'array',
    description: 'Command-line arguments',
    items: { type: 'string' },
    maxItems: 1000,
    allow_dash: true,
    ...(least > 0 ? { required: true, minItems: least } : { default: [] })
  }
  return {
    parameters: [parameter, stdin],
    template: { parts: [{ kind: 'spread', parameter: 'arguments' }], dashes: ['arguments'] }
  }
}

function cut (text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text
}
