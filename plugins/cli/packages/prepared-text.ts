import { apiText } from '../openapi/api-text.ts'
import { filesText, toolsText } from '../trust/trust-text.ts'
import { paragraph } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'
import type { Prepared } from './prepare.ts'

/** What a fetched skill is and may do, in words for a person. */
export function preparedText (
  { candidate, skill }: Prepared, from: string, page: Pick<Terminal, 'colors' | 'columns'>
): string {
  const { columns } = page
  const programs = [...new Set(skill?.tools.flatMap(({ command }) => command === undefined ? [] : [command.program]))]
  return [
    paragraph([`From ${from}`], { columns }),
    filesText(candidate, page),
    '\n',
    skill === undefined
      ? paragraph(['Its code is JavaScript. Its tools and permissions are known when the code was run, which is after'
        + ' you install it. It runs in the sandbox where isolation.mode says so, and can do all that you can elsewhere.'
      ], { columns })
      : skill.runtime === 'http' ? apiText(skill, page) : toolsText(skill, page),
    programs.length === 0 ? '' : paragraph([`It starts the programs ${programs.join(', ')}.`], { columns })
  ].join('')
}
