import { opendir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Command, type Option } from 'commander'
import {
  fromHome, getSkill, isFinal, listExecutions, listSkills, silentLogger, splitInstance, splitTool, type Gateway,
  type Skill
} from '../../kernel/index.ts'
import { boot, configure, looking, quick, type Needs } from './boot.ts'
import type { CommandContext, CommandRow } from './command.ts'
import { duration, localTime } from './terminal/layout.ts'
import { addSettingOptions } from './options/options.ts'
import { equalsOf, skillIn } from './options/target.ts'

/** A completion of a word, with a description. After a completion that ends in `=` or `/`, the word continues. */
export interface Candidate { word: string, about?: string }

/**
 * Names of parameters that a shell passes on unchanged. Other parameters need `--params`, or the user must quote them.
 */
const typeable = /^[\w.@:+%,/][\w.@:+%,/-]*$/
/** The number of executions, and of files in a folder, that are offered. */
const executionsMax = 20
const filesMax = 500

/**
 * The completions of the last word of a command line. The placeholders of arguments and options show which values they
 * take: `<skill>`, `<skill:tool>`, `[name=value...]`, `<id>`, `<file>`, `<dir>`, and choices.
 * @param words the words after the program's name; the last one is being typed, and may be empty
 */
export async function complete (
  commands: readonly CommandRow[],
  words: readonly string[],
  context: CommandContext
): Promise<Candidate[]> {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  return (await candidates(commands, before, current, context)).filter(({ word }) => word.startsWith(current))
}

async function candidates (
  commands: readonly CommandRow[], before: readonly string[], current: string, context: CommandContext
): Promise<Candidate[]> {
  const [name, ...rest] = before
  if (name === undefined || (name === 'help' && rest.length === 0)) return commandNames(commands, name)
  const row = commands.find(row => row.name === name || row.aliases?.includes(name))
  if (row === undefined) return []
  let command = new Command(row.name).exitOverride().configureOutput({ outputError: () => {} })
  ;(await row.load()).default(command, context)
  let args = rest
  const inner = command.commands.find(inner => inner.name() === rest[0])
  if (inner !== undefined) {
    command = inner
    args = rest.slice(1)
  } else if (command.commands.length > 0) {
    if (rest.length === 0 && !current.startsWith('-')) {
      return command.commands.map(inner => ({ word: inner.name(), about: inner.description() }))
    }
    if (command.options.length === 0) return [] // it only has commands below it
  }

  const valued = optionOf(command, before.at(-1))
  const dynamic = new Dynamic(before, context)
  if (valued !== undefined) {
    return valued.argChoices?.map(word => ({ word }))
      ?? await dynamic.byPlaceholder(/[<[]([^>\]]*)/.exec(valued.flags)?.[1] ?? '', current, [])
  }
  if (current.startsWith('-')) {
    return command.options.filter(({ hidden }) => !hidden).flatMap(({ long, description }): Candidate[] =>
      long === null || long === undefined ? [] : [{ word: long, about: description }])
  }

  const operands = operandsOf(command, args)
  const { registeredArguments } = command
  const argument = registeredArguments[operands.length]
    ?? (registeredArguments.at(-1)?.variadic === true ? registeredArguments.at(-1) : undefined)
  if (argument === undefined) return []
  return argument.argChoices?.map(word => ({ word })) ?? await dynamic.byPlaceholder(argument.name(), current, operands)
}

/** The names of commands, at the beginning of the line or after `help`. */
function commandNames (commands: readonly CommandRow[], before: 'help' | undefined): Candidate[] {
  const shown = commands.filter(({ hidden }) => hidden !== true)
    .map(({ name, description }): Candidate => ({ word: name, about: description }))
  if (before === 'help') return shown
  return [...shown, { word: 'help', about: 'Show the help of a command' }, { word: '--help' }, { word: '--version' }]
}

/** The option that takes the next word as its value. */
function optionOf (command: Command, word: string | undefined): Option | undefined {
  return command.options.find(option => option.required && (option.long === word || option.short === word))
}

/** The words that are neither options nor values of options. */
function operandsOf (command: Command, words: readonly string[]): string[] {
  const operands: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? ''
    if (word.startsWith('-') && word !== '-') {
      if (optionOf(command, word) !== undefined) i++
    } else operands.push(word)
  }
  return operands
}

/** The completions that depend on the skills, the history or the files. */
class Dynamic {
  readonly #words: readonly string[]
  readonly #context: CommandContext

  constructor (words: readonly string[], context: CommandContext) {
    this.#words = words
    this.#context = context
  }

  async byPlaceholder (placeholder: string, current: string, operands: readonly string[]): Promise<Candidate[]> {
    switch (placeholder) {
      case 'skill': return await this.#skills(skills => skills.map(about))
      case 'skill:tool': return await this.#skills(skills => tools(skills, current))
      case 'skill|skill:tool': return await this.#skills(skills => [...skills.map(about), ...tools(skills, current)])
      case 'name=value': return await this.#parameters(operands, current)
      case 'id':
        return await this.#ask(looking, gateway => executions(gateway, this.#words[0] ?? '', this.#context))
      case 'file': return await files(current, '', this.#context.terminal.cwd, false)
      case 'dir': return await files(current, '', this.#context.terminal.cwd, true)
      default: return []
    }
  }

  async #skills (fold: (skills: Skill[]) => Candidate[]): Promise<Candidate[]> {
    return await this.#ask(quick, async gateway => fold((await gateway.invoke(listSkills, {}, this.#call())).skills))
  }

  /** The names of parameters that have no value yet, and values that follow from the type or from the file system. */
  async #parameters ([target = '', ...pairs]: readonly string[], current: string): Promise<Candidate[]> {
    const { skill_name, tool_name } = splitTool(target)
    const parameters = await this.#ask(quick, async gateway => {
      const skill = await gateway.invoke(getSkill, { name: skill_name }, this.#call())
      return skill.tools.filter(({ name }) => name === tool_name).flatMap(({ parameters }) => parameters)
    }, skillIn(target))
    const names = parameters.map(({ name }) => name)
    const equals = equalsOf(current, names)
    if (equals === -1) {
      const named = new Set(pairs.map(pair => pair.slice(0, equalsOf(pair, names))))
      return parameters.filter(({ name }) => !named.has(name) && typeable.test(name))
        .map(({ name, description }) => ({ word: `${name}=`, about: description }))
    }
    const parameter = parameters.find(({ name }) => name === current.slice(0, equals))
    const lead = current.slice(0, equals + 1)
    if (parameter === undefined) return []
    const values = parameter.type === 'boolean'
      ? ['true', 'false']
      : Array.isArray(parameter['enum']) ? parameter['enum'].map(String) : undefined
    if (values !== undefined) return values.map(value => ({ word: lead + value }))
    return parameter.type === 'string'
      ? await files(current.slice(equals + 1), lead, this.#context.terminal.cwd, false)
      : []
  }

  #call (): { transport: 'cli', signal: AbortSignal } {
    return { transport: 'cli', signal: this.#context.signal }
  }

  /** Queries a kernel with the settings of the command line. After any error, no completions are offered. */
  async #ask<T> (needs: Needs, ask: (gateway: Gateway) => Promise<T[]>, only?: string): Promise<T[]> {
    const { terminal, builtin, signal, schema } = this.#context
    try {
      const probe = new Command().exitOverride().configureOutput({ outputError: () => {} })
      const readFlags = addSettingOptions(probe, schema, { serve: true })
      probe.parseOptions([...this.#words])
      const { file, flags } = readFlags()
      const from = file === undefined ? {} : { file }
      const kernel =
        await boot(builtin, configure({ flags, ...from }, this.#context), needs, terminal, silentLogger, signal, {
          ...from,
          ...(only !== undefined && { only })
        })
      try {
        return await ask(kernel.gateway)
      } finally {
        await kernel.stop()
      }
    } catch {
      return []
    }
  }
}

function about ({ name, description }: Skill): Candidate {
  return { word: name, about: description }
}

/** Completes the name of a skill, and after it the names of the skill's tools. */
function tools (skills: readonly Skill[], current: string): Candidate[] {
  const { skill_name, tool_name } = splitTool(current)
  const named = skills.find(({ name }) => name === splitInstance(skill_name).skill)
  if (named === undefined || tool_name === undefined) {
    return skills.flatMap(({ name, description, instances = [] }) => [
      { word: `${name}:`, about: description },
      ...instances.map(instance => ({ word: `${instance.name}:`, about: instance.description ?? description }))
    ])
  }
  return named.tools.map(({ name, description }) => ({ word: `${skill_name}:${name}`, about: description }))
}

/** The newest executions that a command can be about. */
async function executions (gateway: Gateway, command: string, { signal }: CommandContext): Promise<Candidate[]> {
  const unfinished = command === 'cancel'
  const query = {
    limit: unfinished ? 500 : executionsMax,
    ...((command === 'approve' || command === 'deny') && { status: 'waiting' })
  }
  const listed = await gateway.invoke(listExecutions, query, { transport: 'cli', signal })
  return listed.executions.filter(({ status }) => !unfinished || !isFinal(status)).slice(0, executionsMax)
    .map(({ id, skill_name, tool_name, status, created_at, duration_ms }) => ({
      word: id,
      about: `${skill_name}:${tool_name} ${status} ${localTime(created_at)}${isFinal(status) ? ` ${duration(duration_ms)}` : ''}`
    }))
}

/**
 * The files and folders that complete a path, folders with a `/`; hidden ones only when the path begins to name one.
 */
async function files (path: string, lead: string, cwd: string, foldersOnly: boolean): Promise<Candidate[]> {
  const slash = path.lastIndexOf('/') + 1
  const folder = path.slice(0, slash)
  const candidates: Candidate[] = []
  try {
    const at = resolve(cwd, fromHome(folder))
    for await (const entry of await opendir(at)) {
      if (
        !entry.name.startsWith(path.slice(slash)) || (entry.name.startsWith('.') && !path.slice(slash).startsWith('.'))
      ) {
        continue
      }
      if (entry.isDirectory()) candidates.push({ word: `${lead}${folder}${entry.name}/` })
      else if (!foldersOnly) candidates.push({ word: lead + folder + entry.name })
      if (candidates.length >= filesMax) break
    }
  } catch {} // no such folder: no completions
  return candidates.sort((a, b) => a.word < b.word ? -1 : 1)
}
