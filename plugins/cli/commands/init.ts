import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { Option } from 'commander'
import { fileURLToPath } from 'node:url'
import { configHome, hasCode, PLUGIN_NAME, SKILL_NAME, SLOTS, type Slot } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { packageFolder, pluginFiles } from '../files/plugin-files.ts'
import { skillFiles } from '../files/skill-files.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Options { native?: boolean, plugin?: Slot, directory?: string, json?: boolean }

/**
 * `skillet init NAME`: writes a folder with a working skill, its instructions and its test; or with a plugin and its
 * test.
 */
const define: DefineCommand = (command, { terminal }) => {
  command
    .argument('<name>', 'the name of the skill, or plugin, and its folder: a-z, 0-9 and -')
    .option('--native', 'a skill of commands (skill.toml), instead of one in JavaScript (skill.js)')
    .addOption(new Option('--plugin <slot>', 'a plugin of this slot, instead of a skill').choices(SLOTS)
      .conflicts('native'))
    .option('--directory <dir>', 'the directory to put it in (default: for a skill your own, where every command finds it; for a plugin this one)')
    .option('--json', 'print JSON')
    .action(async (name: string, { native = false, plugin, directory, json = false }: Options) => {
      if (plugin !== undefined) {
        return terminal.out(
          shownPlugin(await writePlugin(plugin, name, resolve(terminal.cwd, directory ?? '.')), json, terminal)
        )
      }
      if (!SKILL_NAME.test(name)) {
        throw new UsageError(`"${name}" can't be the name of a skill: 1 to 64 of a-z, 0-9 and -`)
      }
      const own = directory === undefined
      const parent = own ? join(configHome(terminal.env), 'skills') : resolve(terminal.cwd, directory)
      const kind = native ? 'native' : 'script'
      const folder = join(parent, name)
      const program = fileURLToPath(new URL('../../../program/main.js', import.meta.url))
      await write(folder, skillFiles(kind, name, program))
      const test = `node --test ${shown(join(folder, 'skill.test.mjs'), terminal)}`
      const call = native
        ? `${name}:lines path=${shown(join(folder, 'SKILL.md'), terminal)}`
        : `${name}:hello name=world`
      const run = `skillet run ${call}${own ? '' : ` --skills ${shown(parent, terminal)}`}`
      const file = native ? 'skill.toml' : 'skill.js'
      terminal.out(json
        ? `${JSON.stringify({ name, kind, folder, run, test })}\n`
        : `${folder} is a skill now. Change ${file} as you like.\n\nRun it:   ${run}\nTest it:  ${test}\n`)
    })
}
export default define

/** A new plugin, whose files have been written. */
interface Written { name: string, slot: Slot, folder: string }

async function writePlugin (slot: Slot, name: string, parent: string): Promise<Written> {
  if (!PLUGIN_NAME.test(name)) {
    throw new UsageError(`"${name}" can't be the name of a plugin: 1 to 64 of a-z, 0-9 and -, with no - first`)
  }
  const folder = join(parent, name)
  await write(folder, pluginFiles(slot, name), async () => {
    // Makes the same link as `npm install` for the dependency in package.json, so that the test finds this Skillet at
    // once.
    await mkdir(join(folder, 'node_modules'))
    await symlink(packageFolder, join(folder, 'node_modules', 'skillet'), 'junction')
  })
  return { name, slot, folder }
}

function shownPlugin ({ name, slot, folder }: Written, json: boolean, terminal: Terminal): string {
  const file = join(folder, 'index.js')
  const test = `node --test ${shown(join(folder, 'index.test.js'), terminal)}`
  return json
    ? `${JSON.stringify({ name, slot, folder, plugin: file, test })}\n`
    : `${folder} is a plugin now. Change index.js as you like.\n\nTest it:  ${test}\nUse it:   plugins = [${JSON.stringify(file)}] in skillet.toml\n`
}

/** Writes all files, or none. */
async function write (folder: string, files: Record<string, string>, link?: () => Promise<void>): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) {
      throw new UsageError(`${folder} is there already; choose another name, or remove it first`, { cause: error })
    }
    throw error
  }
  try {
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { flag: 'wx' })
    await link?.()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** A path in the form for a shell: relative where that is shorter, and quoted where necessary. */
function shown (path: string, { cwd }: Terminal): string {
  const near = relative(cwd, path)
  const short = near.startsWith('..') || near === '' ? path : near
  return /^[\w./@%+,-]+$/.test(short) ? short : `'${short.replaceAll('\'', '\'\\\'\'')}'`
}
