import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  completeConfig, configFile, configHome, loadPlugins, messageOf, SecretFile, silentLogger, type AnyPlugin, type Config,
  type Finding, type Repair
} from '../../../kernel/index.ts'
import { boot, configure, recording, type Needs } from '../boot.ts'
import type { CommandContext, DefineCommand } from '../command.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { careOf, executionsIn } from '../history-care.ts'
import { align, localTime, plain } from '../terminal/layout.ts'
import { addSettingOptions, type SettingFlags } from '../options/options.ts'
import type { Terminal } from '../terminal/terminal.ts'

const whole: Needs = { ...recording, search: true }

/**
 * `skillet doctor`: checks all parts that a run depends on, even when some are broken; exit status 1 when it found a
 * problem.
 */
const define: DefineCommand = (command, context) => {
  command
    .option('--json', 'print JSON')
    .option('--repair', 'check the whole history, and save what can still be read of a damaged one')
  const readFlags = addSettingOptions(command, context.schema, { serve: true })
  command.action(async ({ json = false, repair: repairing = false }: { json?: boolean, repair?: boolean }) => {
    const { terminal, setStatus } = context
    if (repairing) {
      const { care, context: work } = await careOf(configure(readFlags(), context), context)
      const repair = await care.repair(work)
      terminal.out(json ? `${JSON.stringify(repair)}\n` : repairText(repair))
      return
    }
    const findings = await examine(readFlags(), context)
    const problems = findings.filter(({ level }) => level === 'problem').length
    terminal.out(
      json ? `${JSON.stringify({ healthy: problems === 0, findings })}\n` : text(findings, problems, terminal)
    )
    if (problems > 0) setStatus(EXIT_CODES.tool_failed)
  })
}
export default define

async function examine (settingFlags: SettingFlags, context: CommandContext): Promise<Finding[]> {
  const { terminal, builtin } = context
  const { config, finding } = readConfig(settingFlags, context)
  const { plugins, findings } = await loadBuiltin(builtin)
  findings.unshift(node(), finding, ...secrets(terminal))
  try {
    plugins.push(...await loadPlugins(config.plugins, terminal.cwd))
  } catch (error) {
    findings.push({ level: 'problem', about: 'plugins', text: firstLine(error) })
    return findings
  }
  return [...findings, ...await examineRunning(config, plugins, settingFlags, context)]
}

/** The plugins of the program, and a finding for each plugin that does not load. */
async function loadBuiltin (
  builtin: CommandContext['builtin']
): Promise<{ plugins: AnyPlugin[], findings: Finding[] }> {
  const { storage, search, executors, skills, agent, endpoints, transports } = builtin
  const plugins: AnyPlugin[] = []
  const findings: Finding[] = []
  for (const load of [storage, search, ...executors, ...skills, agent, ...endpoints, ...transports]) {
    try {
      plugins.push((await load()).default)
    } catch (error) {
      const text = `a part of the program does not load: ${firstLine(error)}`
      findings.push({ level: 'problem', about: 'installation', text, remedy: 'install it again: npm ci' })
    }
  }
  return { plugins, findings }
}

/** The findings of a kernel with this configuration; if it can't start, also those of a kernel without a history. */
async function examineRunning (
  config: Config, plugins: readonly AnyPlugin[], settingFlags: SettingFlags, context: CommandContext
): Promise<Finding[]> {
  const { terminal, builtin, signal } = context
  const findings: Finding[] = []
  const from = settingFlags.file === undefined ? {} : { file: settingFlags.file }
  const look = async (config: Config, needs: Needs): Promise<void> => {
    const kernel = await boot(builtin, config, needs, terminal, silentLogger, signal, from)
    try {
      findings.push(...await kernel.examine(plugins, signal))
    } finally {
      await kernel.stop()
    }
  }
  try {
    await look(config, whole)
  } catch (error) {
    signal.throwIfAborted()
    findings.push({ level: 'problem', about: 'start', text: firstLine(error) })
    // The data directory may be the broken part: the other parts are checked with a temporary one.
    const elsewhere = await mkdtemp(join(tmpdir(), 'skillet-doctor-'))
    try {
      await look({ ...config, data_dir: elsewhere }, { ...whole, history: false })
    } catch (error) {
      signal.throwIfAborted()
      findings.push({ level: 'problem', about: 'start without a history', text: firstLine(error) })
    } finally {
      await rm(elsewhere, { recursive: true, force: true })
    }
  }
  return findings
}

/** Checks the version of Node against the range in package.json. */
function node (): Finding {
  const about = 'Node.js'
  const { engines: { node: range } } = JSON.parse(
    readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')
  ) as { engines: { node: string } }
  const { node: version } = process.versions
  const remedy = 'install Node.js 22 or 24 from https://nodejs.org'
  if (!isWithin(version, range)) {
    return { level: 'problem', about, text: `Skillet does not run on ${version}: it needs ${range}`, remedy }
  }
  if (version.startsWith('20.')) return { level: 'note', about, text: `${version} has reached its end of life`, remedy }
  return { level: 'ok', about, text: version }
}

/** Whether a version is in a range of package.json, such as `^22.12.0 || >=24.0.0`. Exported for a test. */
export function isWithin (version: string, range: string): boolean {
  return range.split(' || ').some(part => {
    const least = part.replace(/^\D+/, '')
    return version.localeCompare(least, 'en', { numeric: true }) >= 0
      && (part.startsWith('>=') || parseInt(version, 10) === parseInt(least, 10))
  })
}

function readConfig (settingFlags: SettingFlags, context: CommandContext): { config: Config, finding: Finding } {
  const about = 'configuration'
  const { terminal: { env, cwd }, schema } = context
  const path = configFile({ env, cwd, ...(settingFlags.file !== undefined && { file: settingFlags.file }) })
  try {
    const config = configure(settingFlags, context)
    return { config, finding: { level: 'ok', about, text: existsSync(path) ? path : `defaults; ${path} is not there` } }
  } catch (error) {
    return {
      config: completeConfig({}, schema),
      finding: { level: 'problem', about, text: messageOf(error), remedy: 'what follows is found with the defaults' }
    }
  }
}

function secrets ({ env }: Terminal): Finding[] {
  try {
    new SecretFile(configHome(env), env).list()
    return []
  } catch (error) {
    return [{ level: 'problem', about: 'secrets', text: messageOf(error) }]
  }
}

function firstLine (error: unknown): string {
  return messageOf(error).split('\n')[0] ?? ''
}

function text (findings: readonly Finding[], problems: number, { colors: { out }, columns }: Terminal): string {
  const styles = { ok: out.green, note: out.yellow, problem: out.red }
  const rows = findings.flatMap(({ level, about, text, remedy }) => [
    [{ text: level, style: styles[level] }, { text: about, style: out.bold }, plain(text)],
    ...(remedy === undefined ? [] : [['', '', { text: `→ ${remedy}`, style: out.cyan }]])
  ])
  const sum = problems === 0
    ? 'Nothing is wrong.'
    : problems === 1 ? 'There is 1 problem.' : `There are ${problems} problems.`
  return `${align(rows, { columns })}\n${sum}\n`
}

function repairText ({ damage, aside, kept, lost, gaps }: Repair): string {
  if (damage === null) {
    return `Nothing is wrong with the history, which has ${executionsIn(kept)}. Nothing was changed.\n`
  }
  const lossText = lost === 0 ? 'None is lost.' : `Lost: ${executionsIn(lost ?? 0)}.`
  const missing = lost === null ? 'It is not known how many are lost.' : lossText
  const time = (at: string | null, otherwise: string): string => at === null ? otherwise : localTime(at)
  return [
    `The history was damaged: ${damage}.`,
    `It has ${executionsIn(kept)} now. ${missing}`,
    ...gaps.map(({ executions, after, before }) =>
      `  ${executions} between ${time(after, 'the beginning')} and ${time(before, 'the end')}`),
    `The damaged file is ${aside}`,
    ''
  ].join('\n')
}
