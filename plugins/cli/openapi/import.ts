import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { configHome, messageOf, SKILL_NAME } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import type { CommandContext } from '../command.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import { LockFile, type LockEntry } from '../packages/lock-file.ts'
import { prepare } from '../packages/prepare.ts'
import { preparedText } from '../packages/prepared-text.ts'
import { putInPlace } from '../packages/put-in-place.ts'
import { withWorkspace } from '../packages/workspace.ts'
import { plain } from '../terminal/layout.ts'
import { agrees } from '../terminal/agrees.ts'
import { stageDocument } from './stage-document.ts'

interface Options { filter?: string[], as?: string, server?: string, auth?: string, yes?: boolean, json?: boolean }

/** The number of faults that are shown. */
const faultsMax = 20

const aboutFilter = 'which operations: tag:NAME, path:/PATH/* or operation:ID; several times: any of these'
const aboutAuth = 'credentials that the document does not mention: bearer, basic, header:NAME, query:NAME, cookie:NAME; or none'

/** `skillet import openapi DOCUMENT`: makes a skill of a web API. */
export function defineImportOpenapi (command: Command, context: CommandContext): void {
  command.description('Make a skill of a web API, from its OpenAPI document')
    .argument('<document>', 'its address, or a file; OpenAPI 3 or 2.0 (Swagger), JSON or YAML')
    .option('--filter <part>', aboutFilter, (value: string, before: string[] = []) => [...before, value])
    .option('--as <name>', 'the name of the skill')
    .option('--server <url>', 'where requests are sent, where the document says something else')
    .option('--auth <kind>', aboutAuth)
    .option('--yes', 'import it without a question')
    .option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, context.schema)
  command.action(async (text: string, options: Options) => {
    await withWorkspace(join(configHome(context.terminal.env), 'skills'), async workspace => {
      await importDocument(text, options, workspace, readFlags(), context)
    })
  })
}

async function importDocument (
  text: string, options: Options, workspace: string, settingFlags: SettingFlags, context: CommandContext
): Promise<void> {
  const { terminal, signal } = context
  const { filter = [], server, auth, as } = options
  if (as !== undefined && !SKILL_NAME.test(as)) {
    throw new UsageError(`"${as}" can't be the name of a skill (1 to 64 of a-z, 0-9 and -)`)
  }
  const wish = { name: as, filter, ...(server !== undefined && { server }), ...(auth !== undefined && { auth }) }
  const staged = await stageDocument(text, wish, workspace, terminal.cwd, signal)
  const { name, source, resolved, faults } = staged
  const target = join(configHome(terminal.env), 'skills', name)
  if (existsSync(target)) {
    throw new UsageError(`${target} is there already: skillet update ${name}, skillet remove ${name}, or choose --as NAME`)
  }
  const prepared = await prepare(name, staged.folder, workspace, settingFlags, context).catch((error: unknown) => {
    throw new Error(`${text} can't be imported: ${messageOf(error)}`, { cause: error })
  })
  const shown = preparedText(prepared, `${source} (${resolved})`, terminal) + faultsText(faults)
  if (options.json !== true) terminal.out(shown)
  else if (options.yes !== true) terminal.err(shown)
  if (!await agrees(`Import the skill ${name}? [y/N] `, options, context)) return
  const places = { name, folder: prepared.folder, target, workspace, prepared: prepared.skill }
  const skill = await putInPlace(places, settingFlags, context)
  const entry: LockEntry = {
    name, source, path: '', resolved, hash: prepared.candidate.content.hash, at: new Date().toISOString()
  }
  await new LockFile(configHome(terminal.env)).put(entry)
  const secrets = skill?.permissions.secrets ?? []
  terminal.out(options.json === true
    ? `${JSON.stringify({ ...entry, folder: target, tools: skill?.tools.map(tool => tool.name) ?? null, secrets, faults })}\n`
    : [
        `${name} is imported: ${target}\n`,
        ...secrets.map(secret => `Give it a secret:  skillet secret set ${name} ${secret}\n`),
        `Look at it:        skillet info ${name}\n`
      ].join(''))
}

function faultsText (faults: readonly string[]): string {
  if (faults.length === 0) return ''
  const more = faults.length > faultsMax ? `  and ${faults.length - faultsMax} more\n` : ''
  return `What can't be used of it:\n${faults.slice(0, faultsMax).map(fault => `  ${plain(fault)}\n`).join('')}${more}`
}
