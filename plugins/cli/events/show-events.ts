import type { LiveEvent } from '../../../kernel/index.ts'
import { duration, steady } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/**
 * Shows the events of an execution: its output on standard output, all else on standard error.
 * @returns a function to call with each event
 */
export function showEvents (terminal: Terminal, json: boolean): (event: LiveEvent) => void {
  const { colors: { err: { dim } }, shown, watched } = terminal
  const plain = (text: string): string => watched ? steady(text) : text
  /** Whether the last text on standard output did not end its line. */
  let isOpen = false
  const line = (text: string): void => {
    if (isOpen && shown) terminal.out('\n')
    isOpen = false
    terminal.err(`${text}\n`)
  }
  return event => {
    if (json) return terminal.out(`${JSON.stringify(event)}\n`)
    switch (event.type) {
      case 'stdout':
        isOpen = !event.text.endsWith('\n')
        return terminal.out(shown ? steady(event.text) : event.text)
      case 'stderr': return terminal.err(plain(event.text))
      case 'log': return line(`${event.level}: ${plain(event.text)}`)
      case 'progress': return line(dim(progressOf(event, plain)))
      case 'transition': return line(dim(event.status))
      case 'missed': return line(dim(`missed: ${amountsOf(event)}`))
      case 'notice': return line(dim(event.text))
      case 'end': {
        const { error, duration_ms } = event
        return line(error === null ? dim(`took ${duration(duration_ms)}`) : `${error.code}: ${plain(error.message)}`)
      }
      default: event satisfies never
    }
  }
}

function progressOf (
  { done, total, message }: Extract<LiveEvent, { type: 'progress' }>, plain: (text: string) => string
): string {
  const of = total === undefined ? '' : ` of ${total}`
  return `${done}${of}${message === undefined ? '' : ` ${plain(message)}`}`
}

function amountsOf ({ missed }: Extract<LiveEvent, { type: 'missed' }>): string {
  return Object.entries(missed)
    .map(([what, count]) => `${count} ${what === 'stdout' || what === 'stderr' ? `characters of ${what}` : what}`)
    .join(', ')
}
