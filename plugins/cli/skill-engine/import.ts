import { existsSync } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Command } from 'commander'
import {
  configHome, health, listSkills, messageOf, silentLogger, SKILL_NAME, type QuarantinedSkill, type Skill,
  type SkillWarning
} from '../../../kernel/index.ts'
import { readFolder } from '../../toolkit/trust/folder-content.ts'
import { skillEngineFolder } from '../../toolkit/skill-engine-folder.ts'
import { boot, configure, quick, UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import { instancesText } from '../options/target.ts'
import { stage } from '../packages/stage.ts'
import { withWorkspace } from '../packages/workspace.ts'
import { agrees } from '../terminal/agrees.ts'
import { align, paragraph } from '../terminal/layout.ts'
import { filesText } from '../trust/trust-text.ts'
import { manifestRows } from './manifest-rows.ts'

interface Options { as?: string, yes?: boolean, json?: boolean }

/** `skillet import skill-engine FOLDER`: copies skills of the Skill Engine to where every command finds them. */
export function defineImportSkillEngine (command: Command, context: CommandContext): void {
  command.description('copy skills of the Skill Engine, with their manifest, to where every command finds them')
    .argument('<folder>', 'a folder with a skill or a manifest, or a directory of such folders')
    .option('--as <name>', 'the name of the copied folder')
    .option('--yes', 'copy it without a question')
    .option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, context.schema)
  command.action(async (folder: string, options: Options) => {
    const own = skillEngineFolder(configHome(context.terminal.env))
    await withWorkspace(own, async workspace => {
      await importFolder(resolve(context.terminal.cwd, folder), own, options, workspace, readFlags(), context)
    })
  })
}

async function importFolder (
  source: string, own: string, options: Options, workspace: string, settingFlags: SettingFlags, context: CommandContext
): Promise<void> {
  const { terminal, signal } = context
  const name = options.as ?? basename(source).toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
  if (!SKILL_NAME.test(name)) {
    throw new UsageError(`"${name}" can't be the name of a folder here (1 to 64 of a-z, 0-9 and -); choose one: --as NAME`)
  }
  const target = join(own, name)
  if (existsSync(target)) throw new UsageError(`${target} is there already; remove it first, or choose --as NAME`)
  if (!await stat(source).then(stats => stats.isDirectory(), () => false)) {
    throw new UsageError(`${source} is no folder`)
  }
  await readFolder(source).catch((error: unknown) => { // its limits hold before it is copied
    throw new UsageError(`${source} can't be imported: ${messageOf(error)}`, { cause: error })
  })
  const staged = (await stage({ kind: 'folder', path: source }, workspace, signal)).folder
  const content = await readFolder(staged)
  const leaving = content.entries.find(({ outside }) => outside !== undefined)
  if (leaving !== undefined) {
    throw new UsageError(`its link ${leaving.path} leads to ${leaving.outside ?? ''}, outside of its folder`)
  }
  const rows = await manifestRows(staged, content.entries.map(({ path }) => path))
  const { columns } = terminal
  const shown = filesText({ name, path: source, content }, terminal)
    + (rows.length === 0 ? '' : `\n${align(rows, { columns, indent: '  ', widthMax: 40 })}`)
    + `\n${paragraph(['Its code runs for the first time after you agree, to tell its tools.'], { columns })}`
  if (options.json !== true) terminal.out(shown)
  else if (options.yes !== true) terminal.err(shown)
  if (!await agrees(`Copy it to ${target}? [y/N] `, options, context)) return
  await mkdir(own, { recursive: true, mode: 0o700 })
  await rename(staged, target)
  const read = await readImported(target, settingFlags, context)
  terminal.out(options.json === true
    ? `${JSON.stringify({ folder: target, hash: content.hash, ...read })}\n`
    : importedText(target, read, columns))
}

/** The skills that came out of a folder, those that did not load, and what is odd about them. */
interface Imported { skills: Skill[], quarantined: QuarantinedSkill[], warnings: SkillWarning[] }

async function readImported (
  target: string, settingFlags: SettingFlags, context: CommandContext
): Promise<Imported> {
  const { builtin, terminal, signal } = context
  const from = settingFlags.file === undefined ? {} : { file: settingFlags.file }
  const kernel = await boot(builtin, configure(settingFlags, context), quick, terminal, silentLogger, signal, from)
  try {
    const call = { transport: 'cli', signal } as const
    const { skills } = await kernel.gateway.invoke(listSkills, {}, call)
    const { quarantined, warnings } = await kernel.gateway.invoke(health, {}, call)
    const isWithin = (path: string): boolean => path === target || path.startsWith(`${target}/`)
    const names = new Set(kernel.skills().filter(({ directory }) => isWithin(directory)).map(skill => skill.name))
    return {
      skills: skills.filter(skill => names.has(skill.name)),
      quarantined: quarantined.filter(({ path }) => isWithin(path)),
      warnings: warnings.filter(({ path }) => isWithin(path))
    }
  } finally {
    await kernel.stop()
  }
}

function importedText (
  target: string, { skills, quarantined, warnings }: Imported, columns: number | undefined
): string {
  const page = { columns, indent: '  ', widthMax: 40 }
  const rows = skills.map((skill): [string, string] => {
    const instances = instancesText(skill)
    return [skill.name, `${skill.tools.length} tools${instances === undefined ? '' : `; instances ${instances}`}`]
  })
  const wrong = quarantined.map(({ name, error }): [string, string] => [name, `does not serve: ${error}`])
  const odd = warnings.map(({ name, warning }): [string, string] => [name, warning])
  return [
    `copied to ${target}\n`,
    align(rows, page),
    align([...wrong, ...odd], page),
    skills.length === 0 ? 'No skill in it serves: see skillet doctor.\n' : ''
  ].join('')
}
