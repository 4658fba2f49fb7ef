import { userInfo } from 'node:os'
import { configHome, isAbsent, messageOf, splitInstance, type SkillDefinition } from '../../../kernel/index.ts'
import { digestsOf, readFolder } from '../../toolkit/trust/folder-content.ts'
import { KeptTexts, textsOf } from '../../toolkit/trust/kept-texts.ts'
import type { TrustRecord } from '../../toolkit/trust/record.ts'
import { changesOf, fileChanges, snapshotOf, type Change } from '../../toolkit/trust/snapshot.ts'
import { TrustFile } from '../../toolkit/trust/trust-file.ts'
import { UsageError } from '../boot.ts'
import type { CommandContext, DefineCommand } from '../command.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import { agrees } from '../terminal/agrees.ts'
import { align, localTime } from '../terminal/layout.ts'
import { findCandidate, readLocked, readUnconfined, runsModule, type Candidate } from '../trust/candidate.ts'
import { diffsText, fileDiffs, type FileDiff } from '../trust/file-diffs.ts'
import { changesText, filesText, toolsText } from '../trust/trust-text.ts'

interface Options { json?: boolean, yes?: boolean, list?: boolean }

/** `skillet trust SKILL`, `skillet trust --list`: trusts the present content of a skill, until a file changes. */
const define: DefineCommand = (command, context) => {
  command.argument('[skill]', 'the skill')
    .option('--yes', 'trust it without a question')
    .option('--list', 'list the skills that are trusted by their content')
    .option('--json', 'print JSON')
  const readFlags = addSettingOptions(command, context.schema)
  command.action(async (name: string | undefined, options: Options) => {
    const file = new TrustFile(configHome(context.terminal.env))
    if (options.list === true) return await list(name, options, file, context)
    if (name === undefined) {
      throw new UsageError('name the skill: skillet trust NAME; or list the trusted ones: skillet trust --list')
    }
    const { skill, instance } = splitInstance(name)
    if (instance !== undefined) {
      throw new UsageError(`instances are trusted with their skill: skillet trust ${skill}`)
    }
    await new Trusting(name, options, readFlags(), file, context).run()
  })
}
export default define

/** One call of `skillet trust NAME`. */
class Trusting {
  readonly #name: string
  readonly #options: Options
  readonly #settingFlags: SettingFlags
  readonly #file: TrustFile
  readonly #texts: KeptTexts
  readonly #context: CommandContext

  constructor (name: string, options: Options, settingFlags: SettingFlags, file: TrustFile, context: CommandContext) {
    this.#name = name
    this.#options = options
    this.#settingFlags = settingFlags
    this.#file = file
    this.#texts = new KeptTexts(configHome(context.terminal.env))
    this.#context = context
  }

  async run (): Promise<void> {
    const before = this.#file.read()
    const candidate = await findCandidate(this.#name, this.#settingFlags, this.#context)
    const old = before.find(({ path, name }) => path === candidate.path && name === this.#name)
    if (candidate.skill?.trusted === true) return this.#answerTrusted(candidate, old)
    const texts = await textsOf(candidate.content.entries)
    const kept = old === undefined ? {} : await this.#texts.read(old.hash)
    const diffs = Object.keys(kept).length === 0 ? [] : fileDiffs(kept, texts)
    // Before the module runs, if it has one.
    this.#show(filesText(candidate, this.#context.terminal) + diffsText(diffs, this.#context.terminal))
    const skill = candidate.skill ?? await this.#readUnserved(candidate)
    if (skill === undefined) return
    const changes = old === undefined ? [] : this.#changes(old, candidate, skill)
    this.#show(`\n${toolsText(skill, this.#context.terminal)}`)
    if (old !== undefined) {
      this.#show(`\n${changesText(`Changed since ${localTime(old.at)}:`, changes, this.#context.terminal)}`)
    }
    if (!await agrees(`Trust the skill ${this.#name} with this content? [y/N] `, this.#options, this.#context)) return
    await this.#record(candidate, skill, { changes, diffs })
    await this.#texts.keep(candidate.content.hash, texts)
    await this.#texts.prune(new Set(this.#file.read().map(({ hash }) => hash)))
  }

  /** Reads a skill that does not serve. The user is asked before its module runs, and before it does so unconfined. */
  async #readUnserved (candidate: Candidate): Promise<SkillDefinition | undefined> {
    let { fault } = candidate
    if (fault === undefined) {
      const question = 'Its tools are known when its module was run. Run it now? [y/N] '
      if (runsModule(candidate) && !await agrees(question, this.#options, this.#context)) return undefined
      const read = await readLocked(this.#name, this.#settingFlags, this.#context)
      if (read.fault === undefined) return read.skill
      fault = read.fault
    }
    const question =
      `It can't be read as it is: ${fault}\nRun its module without a sandbox, as your user, to see its tools? [y/N] `
    if (!await agrees(question, this.#options, this.#context)) return undefined
    return await readUnconfined(this.#name, this.#settingFlags, this.#context)
  }

  #changes (old: TrustRecord, { content }: Candidate, skill: SkillDefinition): Change[] {
    return [...changesOf(old.snapshot, snapshotOf(skill)), ...fileChanges(old.files, digestsOf(content.entries))]
  }

  async #record (
    candidate: Candidate, skill: SkillDefinition,
    differences: { changes: readonly Change[], diffs: readonly FileDiff[] }
  ): Promise<void> {
    const { name, path, content } = candidate
    const { terminal } = this.#context
    const { hash, entries, bytes } = await readFolder(path)
    if (hash !== content.hash) {
      throw new Error(`a file of ${path} changed since it was shown; look at it again: skillet trust ${name}`)
    }
    const at = new Date().toISOString()
    const by = userName()
    const record = { name, path, hash, files: digestsOf(entries), snapshot: snapshotOf(skill), at, by }
    await this.#file.add(record)
    await this.#verify(record)
    const files = entries.filter(({ type }) => type !== 'folder').length
    const answer = { name, path, hash, files, bytes, at, by, ...differences }
    if (this.#options.json === true) terminal.out(`${JSON.stringify(answer)}\n`)
    else terminal.out(`The skill "${name}" is trusted, until one of its files changes.\n`)
  }

  /** Reads the skill once more, as a server does. @throws Error when it is not trusted; then the record is removed */
  async #verify (record: TrustRecord): Promise<void> {
    const { skill, problem } = await findCandidate(this.#name, this.#settingFlags, this.#context)
    if (skill?.trusted === true) return
    await this.#file.remove(entry => entry.path === record.path && entry.hash === record.hash)
    throw new Error(`the skill "${this.#name}" can't be trusted by its content: ${problem ?? 'it changed since'}`)
  }

  #answerTrusted ({ name, path }: Candidate, record: TrustRecord | undefined): void {
    const { terminal } = this.#context
    if (this.#options.json === true) {
      const recorded = record !== undefined && { hash: record.hash, at: record.at, by: record.by }
      terminal.out(`${JSON.stringify({ name, path, ...recorded, changes: [], diffs: [] })}\n`)
      return
    }
    const why = record === undefined
      ? 'it is bundled, or in a directory of skills.trusted'
      : `since ${localTime(record.at)}`
    terminal.out(`The skill "${name}" is trusted already: ${why}.\n`)
  }

  #show (text: string): void {
    if (this.#options.json !== true) this.#context.terminal.out(text)
    else if (this.#options.yes !== true) this.#context.terminal.err(text)
  }
}

/** `trusted`: as it was then; `changed`: a file differs; `missing`: there is no such folder. */
type State = 'trusted' | 'changed' | 'missing'

async function list (
  name: string | undefined, { json = false }: Options, file: TrustFile, { terminal }: CommandContext
): Promise<void> {
  const rows = []
  for (const record of file.read()) {
    if (name === undefined || record.name === name) rows.push({ record, state: await stateOf(record) })
  }
  const { colors: { out: { bold, green, red } }, columns } = terminal
  if (json) {
    const skills = rows.map(({ record: { name, path, hash, at, by }, state }) => ({ name, path, state, hash, at, by }))
    return terminal.out(`${JSON.stringify({ file: file.path, skills })}\n`)
  }
  if (rows.length === 0) return terminal.out('No skill is trusted by its content. Trust one with skillet trust NAME.\n')
  terminal.out(align(rows.map(({ record: { name, path, at, by }, state }) => {
    const style = state === 'trusted' ? green : red
    return [{ text: name, style: bold }, { text: state, style }, `since ${localTime(at)}, by ${by}`, path]
  }), { columns }))
}

async function stateOf ({ path, hash }: TrustRecord): Promise<State> {
  try {
    return (await readFolder(path)).hash === hash ? 'trusted' : 'changed'
  } catch (error) {
    return error instanceof Error && isAbsent(error.cause) ? 'missing' : 'changed'
  }
}

function userName (): string {
  try {
    return userInfo().username
  } catch (error) {
    return `user ${process.getuid?.() ?? messageOf(error)}` // it has no name on this machine
  }
}
