import { join } from 'node:path'
import { configHome, messageOf, SkilletError } from '../../../kernel/index.ts'
import { digestsOf, readFolder, type FolderContent } from '../../toolkit/trust/folder-content.ts'
import { textsOf } from '../../toolkit/trust/kept-texts.ts'
import { fileChanges } from '../../toolkit/trust/snapshot.ts'
import type { CommandContext, DefineCommand } from '../command.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import { isDocument, stageAgain } from '../openapi/stage-document.ts'
import { LockFile, type LockEntry } from '../packages/lock-file.ts'
import { prepare } from '../packages/prepare.ts'
import { preparedText } from '../packages/prepared-text.ts'
import { putInPlace } from '../packages/put-in-place.ts'
import { skillsIn } from '../packages/skills-in.ts'
import { nameOfSource, parseSource } from '../packages/source.ts'
import { stage, type Staged } from '../packages/stage.ts'
import { withWorkspace } from '../packages/workspace.ts'
import { agrees } from '../terminal/agrees.ts'
import { diffsText, fileDiffs } from '../trust/file-diffs.ts'
import { changesText } from '../trust/trust-text.ts'

interface Options { yes?: boolean, force?: boolean, json?: boolean }

/** `current`: nothing is newer; `refused`: the user said no. */
interface Updated {
  name: string
  state: 'current' | 'updated' | 'refused' | 'failed'
  resolved?: string
  error?: string
}

/** `skillet update [SKILL]`: fetches installed skills again from where they came. */
const define: DefineCommand = (command, context) => {
  command.argument('[skill]', 'the skill (default: all that were installed by skillet add)')
    .option('--yes', 'update without a question')
    .option('--force', 'replace a skill whose files were changed here')
    .option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, context.schema)
  command.action(async (name: string | undefined, options: Options) => {
    const { terminal, setStatus } = context
    const lock = new LockFile(configHome(terminal.env))
    const entries = lock.read().filter(entry => name === undefined || entry.name === name)
    if (name !== undefined && entries.length === 0) {
      throw new SkilletError('NOT_FOUND', `no skill "${name}" was installed by skillet add; see ${lock.path}`)
    }
    const results: Updated[] = []
    for (const entry of entries) {
      const update = new Update(entry, options, readFlags(), lock, context)
      const result = await update.run().catch((error: unknown): Updated => {
        context.signal.throwIfAborted()
        return { name: entry.name, state: 'failed', error: messageOf(error) }
      })
      results.push(result)
      if (result.state === 'failed') setStatus(EXIT_CODES.internal)
      if (options.json !== true) terminal.out(inWords(result))
    }
    if (options.json === true) terminal.out(`${JSON.stringify({ skills: results })}\n`)
    else if (entries.length === 0) terminal.out('No skill was installed by skillet add.\n')
  })
}
export default define

function inWords ({ name, state, resolved = '', error = '' }: Updated): string {
  switch (state) {
    case 'current': return `${name} is up to date (${resolved}).\n`
    case 'updated': return `${name} is updated to ${resolved}.\n`
    case 'failed': return `${name} was not updated: ${error}\n`
    case 'refused': return ''
    default: return state satisfies never
  }
}

/** The update of one skill. */
class Update {
  readonly #entry: LockEntry
  readonly #options: Options
  readonly #settingFlags: SettingFlags
  readonly #lock: LockFile
  readonly #context: CommandContext

  constructor (
    entry: LockEntry, options: Options, settingFlags: SettingFlags, lock: LockFile, context: CommandContext
  ) {
    this.#entry = entry
    this.#options = options
    this.#settingFlags = settingFlags
    this.#lock = lock
    this.#context = context
  }

  async run (): Promise<Updated> {
    const skills = join(configHome(this.#context.terminal.env), 'skills')
    const target = join(skills, this.#entry.name)
    const present = await readFolder(target)
    if (present.hash !== this.#entry.hash && this.#options.force !== true) {
      throw new Error(`${target} was changed here since it was installed; --force replaces it`)
    }
    return await withWorkspace(skills, workspace => this.#update(target, present, workspace))
  }

  async #update (target: string, present: FolderContent, workspace: string): Promise<Updated> {
    const { name, path } = this.#entry
    const { terminal, signal } = this.#context
    const { source } = this.#entry
    const staged = isDocument(source)
      ? await stageAgain({ name, folder: target, source }, workspace, signal, this.#options.force === true)
      : await this.#stage(workspace)
    if (staged === undefined) return { name, state: 'current', resolved: this.#entry.resolved }
    const { folder, resolved } = staged
    const prepared = await prepare(name, join(folder, path), workspace, this.#settingFlags, this.#context)
    const { content } = prepared.candidate
    if (content.hash === present.hash) {
      await this.#record(resolved, content.hash)
      return { name, state: 'current', resolved }
    }
    const changes = fileChanges(digestsOf(present.entries), digestsOf(content.entries))
    const diffs = fileDiffs(await textsOf(present.entries), await textsOf(content.entries))
    this.#show(preparedText(prepared, `${this.#entry.source} (${this.#entry.resolved} → ${resolved})`, terminal))
    this.#show(`\n${changesText('What changes:', changes, terminal)}${diffsText(diffs, terminal)}`)
    if (!await agrees(`Update the skill ${name}? [y/N] `, this.#options, this.#context)) {
      return { name, state: 'refused' }
    }
    const places = { name, folder: prepared.folder, target, workspace, prepared: prepared.skill }
    await putInPlace(places, this.#settingFlags, this.#context)
    await this.#record(resolved, content.hash)
    return { name, state: 'updated', resolved }
  }

  /** @throws Error when the source no longer has the skill */
  async #stage (workspace: string): Promise<Staged> {
    const { source: text, path } = this.#entry
    const source = parseSource(text, this.#context.terminal.cwd)
    const staged = await stage(source, workspace, this.#context.signal)
    const found = (await skillsIn(staged.folder, nameOfSource(source))).find(skill => skill.path === path)
    if (found === undefined) throw new Error(`${text} has no skill in ${path || 'its folder'} any more`)
    return staged
  }

  async #record (resolved: string, hash: string): Promise<void> {
    await this.#lock.put({ ...this.#entry, resolved, hash, at: new Date().toISOString() })
  }

  #show (text: string): void {
    const { terminal } = this.#context
    if (this.#options.json !== true) terminal.out(text)
    else if (this.#options.yes !== true) terminal.err(text)
  }
}
