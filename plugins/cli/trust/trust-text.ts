import type { SkillDefinition } from '../../../kernel/index.ts'
import type { ContentEntry, FolderContent } from '../../toolkit/trust/folder-content.ts'
import type { Change } from '../../toolkit/trust/snapshot.ts'
import { usage } from '../options/target.ts'
import { align, paragraph, type Cell } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The number of files and of changes that are shown. */
const filesMax = 50
const changesMax = 100

type Page = Pick<Terminal, 'colors' | 'columns'>

/** A folder with its content, and the name of its skill. */
interface Folder { name: string, path: string, content: FolderContent }

/** The folder and its files. */
export function filesText ({ name, path, content }: Folder, { colors: { out }, columns }: Page): string {
  const { entries, hash, bytes } = content
  const files = entries.filter(({ type }) => type !== 'folder')
  const rows = files.slice(0, filesMax).map((entry): (Cell | string)[] => [
    { text: entry.path, ...(entry.outside !== undefined && { style: out.yellow }) }, entryText(entry)
  ])
  const sum = `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes, SHA-256 ${hash}`
  if (files.length > filesMax) rows.push([`and ${files.length - filesMax} more`])
  return [
    paragraph([{ text: name, style: out.bold }, ` ${path}`], { columns }),
    paragraph([{ text: sum, style: out.dim }], { columns }),
    align(rows, { columns, indent: '  ' })
  ].join('')
}

function entryText ({ type, size, executable, link = '', outside, sha256 }: ContentEntry): string {
  if (type === 'file') return `${size} bytes${executable ? ', executable' : ''}`
  if (outside === undefined) return `→ ${link}`
  return `→ ${link}, outside of the folder${sha256 === undefined ? ': what is there is not covered' : ''}`
}

/** The tools and the permissions of a skill. */
export function toolsText (skill: SkillDefinition, { colors: { out }, columns }: Page): string {
  const { name, description, permissions: { network, write, env, secrets }, tools } = skill
  const rows = tools.map(tool => [
    { text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description
  ])
  const permissions = [
    networkText(network),
    ...(write.length === 0 ? [] : [`may write to ${write.join(', ')}`]),
    ...(env.length === 0 ? [] : [`gets the variables ${env.join(', ')}`]),
    ...(secrets.length === 0 ? [] : [`gets the secrets ${secrets.join(', ')}`])
  ]
  return [
    paragraph([{ text: name, style: out.bold }, ` — ${description}`], { columns }),
    paragraph([`Permissions: ${permissions.join('; ')}`], { columns }),
    align(rows, { columns, indent: '  ', widthMax: 40 })
  ].join('')
}

function networkText (network: SkillDefinition['permissions']['network']): string {
  if (typeof network === 'boolean') return network ? 'may reach the network' : 'no network'
  return `may reach ${network.join(', ')}`
}

/** What changed since a skill was trusted. */
export function changesText (heading: string, changes: readonly Change[], { colors: { out }, columns }: Page): string {
  const lines = changes.slice(0, changesMax).flatMap(({ what, before, after }) => [
    paragraph([`  ${what}`], { columns }),
    ...(before === undefined ? [] : [paragraph([{ text: `    - ${before}`, style: out.red }], { columns })]),
    ...(after === undefined ? [] : [paragraph([{ text: `    + ${after}`, style: out.green }], { columns })])
  ])
  if (changes.length > changesMax) lines.push(`  and ${changes.length - changesMax} more changes\n`)
  return paragraph([{ text: heading, style: out.bold }], { columns }) + lines.join('')
}
