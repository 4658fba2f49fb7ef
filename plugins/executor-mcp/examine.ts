import { readFile } from 'node:fs/promises'
import type { Finding, SkillDefinition } from '../../kernel/index.ts'
import { findProgram } from '../toolkit/find-program.ts'
import { howToInstall } from '../toolkit/packages.ts'
import { serverOf, type ServerSpec } from '../toolkit/mcp/server-spec.ts'
import { parseToolList } from '../toolkit/mcp/tool-list.ts'

/** Says of each MCP server what is known of it. No server is started. */
export async function examine (
  skills: readonly SkillDefinition[], path = process.env['PATH'] ?? ''
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const skill of skills.filter(({ runtime }) => runtime === 'mcp')) {
    findings.push(await examineServer(skill, serverOf(skill), path))
  }
  return findings
}

async function examineServer ({ name, tools }: SkillDefinition, spec: ServerSpec, path: string): Promise<Finding> {
  const about = `MCP server ${name}`
  const program = spec.command?.[0]
  if (program !== undefined && await findProgram(program, path) === undefined) {
    const remedy = howToInstall(program)
    return {
      level: 'problem', about, text: `its program ${program} was not found`, ...(remedy !== undefined && { remedy })
    }
  }
  const text = await readFile(spec.list_file, 'utf8').catch(() => undefined)
  const list = text === undefined ? undefined : parseToolList(text, spec.way)
  if (list?.fault !== undefined) {
    const where = spec.url ?? spec.command?.join(' ') ?? ''
    return { level: 'problem', about, text: `at its last start: ${list.fault}`, remedy: `try it by hand: ${where}` }
  }
  if (list === undefined) {
    return { level: 'note', about, text: 'it was never started, so its tools are not known; `skillet serve` asks it for them' }
  }
  const { server } = list.listed ?? {}
  const version = server === undefined ? '' : ` (${server.name} ${server.version})`
  return { level: 'ok', about, text: `${tools.length} of its tools serve${version}` }
}
