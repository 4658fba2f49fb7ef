import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { configHome, messageOf, SKILL_NAME } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { CommandContext, DefineCommand } from '../command.ts'
import { defineAddMcp } from '../mcp/add.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import { LockFile, type LockEntry } from '../packages/lock-file.ts'
import { prepare } from '../packages/prepare.ts'
import { preparedText } from '../packages/prepared-text.ts'
import { putInPlace } from '../packages/put-in-place.ts'
import { skillsIn, type FoundSkill } from '../packages/skills-in.ts'
import { nameOfSource, parseSource, sourceText } from '../packages/source.ts'
import { stage } from '../packages/stage.ts'
import { withWorkspace } from '../packages/workspace.ts'
import { agrees } from '../terminal/agrees.ts'

interface Options { skill?: string, as?: string, yes?: boolean, json?: boolean }

/** `skillet add SOURCE`, `skillet add mcp NAME …`: installs a skill into the user's own skills. */
const define: DefineCommand = (command, context) => {
  command
    .argument('<source>', 'a folder, a tarball or its address, a git repository, npm:NAME, github:OWNER/NAME; with #BRANCH')
    .option('--skill <name>', 'the skill to install, where the source has several')
    .option('--as <name>', 'the name to install it under')
    .option('--yes', 'install it without a question')
    .option('--json', 'print JSON')
  defineAddMcp(command.command('mcp'), context)
  const readFlags = addSettingOptions(command, context.schema)
  command.action(async (text: string, options: Options) => {
    await withWorkspace(join(configHome(context.terminal.env), 'skills'), async workspace => {
      await add(text, options, workspace, readFlags(), context)
    })
  })
}
export default define

async function add (
  text: string, options: Options, workspace: string, settingFlags: SettingFlags, context: CommandContext
): Promise<void> {
  const { terminal, signal } = context
  const source = parseSource(text, terminal.cwd)
  const staged = await stage(source, workspace, signal)
  const found = choose(await skillsIn(staged.folder, nameOfSource(source)), options.skill, text)
  const name = options.as ?? found.name
  if (!SKILL_NAME.test(name)) {
    throw new UsageError(`"${name}" can't be the name of a skill (1 to 64 of a-z, 0-9 and -); choose one: --as NAME`)
  }
  const target = join(configHome(terminal.env), 'skills', name)
  if (existsSync(target)) {
    throw new UsageError(`${target} is there already: skillet update ${name}, skillet remove ${name}, or choose --as NAME`)
  }
  const prepared = await prepare(name, join(staged.folder, found.path), workspace, settingFlags, context)
    .catch((error: unknown) => { throw new Error(`${name} of ${text} can't be installed: ${messageOf(error)}`, {
      cause: error
    }) })
  const shown = preparedText(prepared, `${sourceText(source)} (${staged.resolved})`, terminal)
  if (options.json !== true) terminal.out(shown)
  else if (options.yes !== true) terminal.err(shown)
  if (!await agrees(`Install the skill ${name}? [y/N] `, options, context)) return
  const places = { name, folder: prepared.folder, target, workspace, prepared: prepared.skill }
  const skill = await putInPlace(places, settingFlags, context)
  const entry: LockEntry = {
    name, source: sourceText(source), path: found.path, resolved: staged.resolved,
    hash: prepared.candidate.content.hash, at: new Date().toISOString()
  }
  await new LockFile(configHome(terminal.env)).put(entry)
  const tools = skill?.tools.map(tool => tool.name) ?? null
  terminal.out(options.json === true
    ? `${JSON.stringify({ ...entry, folder: target, tools })}\n`
    : `${name} is installed: ${target}\nLook at it:  skillet info ${name}\nTrust it:    skillet trust ${name}\n`)
}

/** @throws UsageError that names the skills to choose from */
function choose (found: readonly FoundSkill[], wanted: string | undefined, source: string): FoundSkill {
  const names = found.map(({ name }) => name).join(', ')
  const [first] = found
  if (first === undefined) {
    throw new UsageError(`${source} has no skill: no folder with skill.toml, skill.js or SKILL.md was found in it`)
  }
  if (wanted === undefined) {
    if (found.length === 1) return first
    throw new UsageError(`${source} has ${found.length} skills; choose one by --skill NAME: ${names}`)
  }
  const chosen = found.find(({ name, path }) => name === wanted || path === wanted)
  if (chosen === undefined) throw new UsageError(`${source} has no skill "${wanted}", but ${names}`)
  return chosen
}
