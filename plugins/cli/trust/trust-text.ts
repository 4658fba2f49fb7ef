import type { SkillDefinition } from '../../../kernel/index.ts'
import type { FolderContent } from '../../toolkit/trust/folder-content.ts'
import type { Change } from '../../toolkit/trust/snapshot.ts'
import { usage } from '../options/target.ts'
import { align, paragraph, type Cell } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The number of files and of changes that are shown. */
const filesMax = 50
const changesMax = 100

type Page = Pick<Terminal, 'colors' | 'columns'>

/** The folder and its files. */
export function filesText ({ name, path, content: { entries, hash, bytes } }: { name: string, path: string, content: FolderContent }, { colors: { out }, columns }: Page): string {
  const files = entries.filter(({ type }) => type !== 'folder')
  const rows = files.slice(0, filesMax).map(({ path, type, size, executable, link, outside, sha256 }): (Cell | string)[] => [
    { text: path, ...(outside !== undefined && { style: out.yellow }) },
    type === 'link' ? `→ ${link ?? ''}${outside === undefined ? '' : `, outside of the folder${sha256 === undefined ? ': what is there is not covered' : ''}`}` : `${size} bytes${executable ? ', executable' : ''}`
  ])
  if (files.length > filesMax) rows.push([`and ${files.length - filesMax} more`])
  return [
    paragraph([{ text: name, style: out.bold }, ` ${path}`], { columns }),
    paragraph([{ text: `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${bytes} bytes, SHA-256 ${hash}`, style: out.dim }], { columns }),
    align(rows, { columns, indent: '  ' })
  ].join('')
}

/** The tools and the permissions of a skill. */
export function toolsText ({ name, description, permissions: { network, write, env, secrets }, tools }: SkillDefinition, { colors: { out }, columns }: Page): string {
  const permissions = [
    network ? 'may reach the network' : 'no network',
    ...(write.length === 0 ? [] : [`may write to ${write.join(', ')}`]),
    ...(env.length === 0 ? [] : [`gets the variables ${env.join(', ')}`]),
    ...(secrets.length === 0 ? [] : [`gets the secrets ${secrets.join(', ')}`])
  ]
  return [
    paragraph([{ text: name, style: out.bold }, ` — ${description}`], { columns }),
    paragraph([`Permissions: ${permissions.join('; ')}`], { columns }),
    align(tools.map(tool => [{ text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description]), { columns, indent: '  ', widthMax: 40 })
  ].join('')
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
