import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import type { Texts } from '../../toolkit/trust/kept-texts.ts'
import { steady } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The time for the comparison of one file, and the lines that are shown of one file and of all. */
const limits = { file_ms: 1_000, fileLines: 200, lines: 1_000 }

/** A changed or added text file, with the unified diff of its lines. */
export interface FileDiff { path: string, diff: string }

/** The diffs of text files that changed or were added. A file whose comparison takes too long is left out. */
export function fileDiffs (before: Texts, after: Texts): FileDiff[] {
  return Object.entries(after).flatMap(([path, text]) => {
    const old = before[path]
    if (old === text) return []
    const names = [old === undefined ? '/dev/null' : `trusted/${path}`, `now/${path}`] as const
    const diff = createTwoFilesPatch(...names, old ?? '', text, undefined, undefined, {
      context: 3, timeout: limits.file_ms, headerOptions: FILE_HEADERS_ONLY
    })
    return diff === undefined ? [] : [{ path, diff }]
  })
}

/** The diffs as they are shown in a terminal, shortened. */
export function diffsText (diffs: readonly FileDiff[], { colors: { out } }: Pick<Terminal, 'colors'>): string {
  let left = limits.lines
  return diffs.map(({ path, diff }) => {
    const lines = diff.trimEnd().split('\n')
    const shown = lines.slice(0, Math.min(limits.fileLines, left))
    left -= shown.length
    const more = lines.length - shown.length
    const rest = more === 0 ? '' : `${out.dim(`${more} more lines of ${steady(path)}: see \`--json\``)}\n`
    return shown.map(line => `${styled(steady(line), out)}\n`).join('') + rest
  }).join('')
}

function styled (line: string, { red, green, cyan, bold }: Terminal['colors']['out']): string {
  if (line.startsWith('--- ') || line.startsWith('+++ ')) return bold(line)
  if (line.startsWith('@@')) return cyan(line)
  if (line.startsWith('-')) return red(line)
  return line.startsWith('+') ? green(line) : line
}
