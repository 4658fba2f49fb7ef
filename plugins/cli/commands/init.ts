import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configHome, hasCode, SKILL_NAME } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { skillFiles, type Kind } from '../files/skill-files.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Options { native?: boolean, directory?: string, json?: boolean }

/** `skillet init NAME`: a folder with a skill that works, its instructions and its test. */
const define: DefineCommand = (command, { terminal }) => {
  command
    .argument('<name>', 'the name of the skill and its folder: a-z, 0-9 and -')
    .option('--native', 'a skill of commands (skill.toml), instead of one in JavaScript (skill.js)')
    .option('--directory <dir>', 'the directory of skills to put it in (default: your own, where every command finds it)')
    .option('--json', 'print JSON')
    .action(async (name: string, { native = false, directory, json = false }: Options) => {
      if (!SKILL_NAME.test(name)) throw new UsageError(`"${name}" can't be the name of a skill: 1 to 64 of a-z, 0-9 and -`)
      const own = directory === undefined
      const parent = own ? join(configHome(terminal.env), 'skills') : resolve(terminal.cwd, directory)
      const kind = native ? 'native' : 'script'
      const folder = join(parent, name)
      await write(folder, kind, name)
      const test = `node --test ${shown(join(folder, 'skill.test.mjs'), terminal)}`
      const run = `skillet run ${kind === 'native' ? `${name}:lines path=${shown(join(folder, 'SKILL.md'), terminal)}` : `${name}:hello name=world`}${own ? '' : ` --skills ${shown(parent, terminal)}`}`
      terminal.out(json ? `${JSON.stringify({ name, kind, folder, run, test })}\n` : `${folder} is a skill now. Change ${kind === 'native' ? 'skill.toml' : 'skill.js'} as you like.\n\nRun it:   ${run}\nTest it:  ${test}\n`)
    })
}
export default define

/** All of it, or nothing. */
async function write (folder: string, kind: Kind, name: string): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  try {
    await mkdir(folder)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new UsageError(`${folder} is there already; choose another name, or remove it first`, { cause: error })
    throw error
  }
  try {
    const program = fileURLToPath(new URL('../../../program/main.js', import.meta.url))
    for (const [file, text] of Object.entries(skillFiles(kind, name, program))) await writeFile(join(folder, file), text, { flag: 'wx' })
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** A path as it is typed in a shell: relative where that is shorter, quoted where it must be. */
function shown (path: string, { cwd }: Terminal): string {
  const near = relative(cwd, path)
  const short = near.startsWith('..') || near === '' ? path : near
  return /^[\w./@%+,-]+$/.test(short) ? short : `'${short.replaceAll('\'', '\'\\\'\'')}'`
}
