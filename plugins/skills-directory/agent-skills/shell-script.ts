import type { ScriptArgument } from './script-arguments.ts'
import { aboutOf, headComment } from './script-comments.ts'
import type { ScriptReading } from './script-reading.ts'
import { asksForOperands, placeholdersOf, usageIn } from './script-usage.ts'

const placesMax = 20
/** The number of characters of a line that are read. */
const lineMax = 1_000

/** Reads a shell script without running it. @param mentionedUsage the usage that the instructions show */
export function readShell (text: string, mentionedUsage: string | undefined): ScriptReading {
  const { main, comments } = partsOf(text)
  const usage = usageOf(text, comments) ?? mentionedUsage
  const options = optionsOf(main)
  const places = placesOf(main, usage)
  const { least, passes } = places
  const args =
    options === undefined
      ? !passes && !/\bgetopts\b/.test(main)
        ? places.arguments
        : undefined
      : [...options, ...(passes ? [operands(usage)] : (places.arguments ?? []))]
  const needed = Math.max(
    least,
    least === 0 && options === undefined && passes && usage !== undefined && asksForOperands(usage) ? 1 : 0
  )
  return {
    program: commandsOf(main),
    about: aboutOf(headComment(text, '#')),
    ...(usage !== undefined && { usage }),
    ...(args !== undefined && { interface: { arguments: args, dashes: options !== undefined } }),
    least: needed,
    passes,
    reads_stdin: /\bread\b(?!only)|\bcat\s*(?:-|\||$)|\/dev\/stdin|<&0/m.test(main)
  }
}

/**
 * Splits a script: `main` is the code without comments, functions and here-documents; `comments` is the text of
 * comments and of printed lines.
 */
function partsOf (text: string): { main: string, comments: string } {
  const main: string[] = []
  const comments: string[] = []
  let until: { line: RegExp, isPrinted: boolean } | undefined
  for (const whole of text.split(/\r?\n/)) {
    const line = whole.slice(0, lineMax)
    if (until !== undefined) {
      const ended = until.line.test(line)
      comments.push(ended ? '' : until.isPrinted ? line : saidBy(line))
      if (ended) until = undefined
      continue
    }
    const [, indent, oneLine] =
      /^(\s*)(?:function\s+[\w:-]+\s*(?:\(\s*\))?|[\w:-]+\s*\(\s*\))\s*\{?(.*\}\s*)?$/.exec(line) ?? []
    if (indent !== undefined) {
      if (oneLine === undefined) until = { line: new RegExp(`^${indent}\\}`), isPrinted: false }
      comments.push(saidBy(line))
      continue
    }
    comments.push(saidBy(line))
    if (/^\s*#/.test(line)) continue
    main.push(line)
    const [, mark] = /<<-?\s*\\?["']?(\w+)["']?/.exec(line) ?? []
    if (mark !== undefined && !line.includes('<<<'))
      until = { line: new RegExp(`^\\s*${mark}\\s*$`), isPrinted: /^\s*cat\b(?!.*>\s*[^&\s])/.test(line) }
  }
  return { main: main.join('\n'), comments: comments.join('\n') }
}

/** The text of a comment or of a line that prints; empty for other lines. */
function saidBy (line: string): string {
  const [, comment, printed] =
    /^\s*#(?!!)\s?(.*)$|^\s*(?:echo|printf)\s+(?:-[en]+\s+)?(?:["'](.*?)["']|[^"'].*)\s*(?:1?>&2)?\s*;?$/.exec(line)
    ?? []
  return comment ?? printed?.replace(/\\n$/, '') ?? ''
}

function usageOf (text: string, comments: string): string | undefined {
  const [, short] = /\busage:\s*([^"'}\n]+)/i.exec(text) ?? []
  return usageIn(comments) ?? (short === undefined ? undefined : usageIn(`usage: ${short}`))
}

/** The options of `getopts`; undefined when the script does not call it exactly once. */
function optionsOf (main: string): ScriptArgument[] | undefined {
  const calls = [...main.matchAll(/\bgetopts\s+["']?:?([A-Za-z0-9:]+)["']?\s+(\w+)/g)]
  const [, letters = ''] = calls[0] ?? []
  if (calls.length !== 1 || letters.includes('::')) return undefined
  return [...letters.matchAll(/([A-Za-z0-9])(:?)/g)].map(([, letter = '', value]) => {
    const [, branch = ''] = new RegExp(`(?:^|[\\s|(])["']?${letter}["']?\\s*\\)([\\s\\S]*?);;`).exec(main) ?? []
    const [, variable] = /(?:^|[\s;])([A-Za-z_]\w*)=/.exec(branch) ?? []
    const name = variable?.toLowerCase() ?? letter
    return {
      name,
      kind: value === ':' ? 'option' : 'flag',
      flag: `-${letter}`,
      type: 'string',
      required: false,
      description: `The option -${letter}${variable === undefined ? '' : ` (${name.replaceAll('_', ' ')})`}`
    }
  })
}

function operands (usage: string | undefined): ScriptArgument {
  return {
    name: 'operands',
    kind: 'positional',
    type: 'string',
    required: false,
    values: { least: usage !== undefined && asksForOperands(usage) ? 1 : 0 },
    description: 'What follows the options'
  }
}

interface Places {
  arguments: ScriptArgument[] | undefined
  least: number
  passes: boolean
}

/** The positional arguments: `$1`, `${2:-default}`. */
function placesOf (main: string, usage: string | undefined): Places {
  const uses = [...main.matchAll(/\$(?:([1-9])|\{([1-9]\d?)([^}]*)\})/g)].map(
    ({ index, 1: plain, 2: braced, 3: rest = '' }) => ({
      place: Number(plain ?? braced),
      rest,
      line: lineAt(main, index)
    })
  )
  const guard = guardOf(main)
  const tested = uses.filter(({ line }) => /\[\[?\s|\btest\s|\bcase\s/.test(line) && !isAssigned(line))
  const checked = uses.filter(
    ({ rest, line }) =>
      rest.startsWith(':?') || rest.startsWith('?') || (/\[\[?\s*-z\s/.test(line) && leaves(main, line))
  )
  const plain = uses.filter(use => use.rest === '' && !tested.includes(use))
  const needed = [...plain, ...checked]
    .filter(({ place }) => guard.most === Infinity || place <= guard.most)
    .reduce((most, { place }) => Math.max(most, place), 0)
  const least = guard.exact ? guard.least : Math.max(guard.least, needed)
  const count = Math.max(
    least,
    uses.reduce((most, { place }) => Math.max(most, place), 0)
  )
  const passes =
    /\$[@*]|\$\{[@*]|"\$\{@:|\bshift\b(?!\s+\$\(\()/.test(main)
    || tested.some(use => !checked.includes(use))
    || guard.other
  return { arguments: count <= placesMax ? namedPlaces(main, usage, count, least) : undefined, least, passes }
}

/** The positional arguments with their names; undefined when a name is not known. */
function namedPlaces (
  main: string,
  usage: string | undefined,
  count: number,
  least: number
): ScriptArgument[] | undefined {
  const placeholders = usage === undefined ? [] : placeholdersOf(usage)
  const named = Array.from({ length: count }).flatMap((_, i): ScriptArgument[] => {
    const shown = placeholders.length === count ? placeholders[i] : undefined
    const name = variableOf(main, i + 1) ?? shown?.name
    if (name === undefined) return []
    const description = (shown?.text ?? name).replaceAll('_', ' ')
    return [{ name, kind: 'positional', type: 'string', description, required: i < least }]
  })
  return named.length === count ? named : undefined
}

/** The number of arguments that tests of `$#` allow; with any other number, they end the script. */
function guardOf (main: string): { least: number, most: number, exact: boolean, other: boolean } {
  const guard = { least: 0, most: Infinity, exact: false, other: false }
  const counts = [...main.matchAll(/\$(?:#|\{#\})/g)]
  for (const { index } of counts) {
    const line = lineAt(main, index)
    const [, operator = '', number = ''] =
      /\$(?:#|\{#\})["']?\s*(-lt|-le|-ne|-eq|-gt|-ge|<|<=|!=|==|=|>)\s*["']?(\d+)/.exec(line) ?? []
    const count = Number(number)
    if (number === '' || !leaves(main, line)) guard.other ||= !/\bOPTIND\b/.test(line)
    else if (operator === '-lt' || operator === '<') guard.least = Math.max(guard.least, count)
    else if (operator === '-le' || operator === '<=') guard.least = Math.max(guard.least, count + 1)
    else if (operator === '-ne' || operator === '!=') Object.assign(guard, { least: count, most: count, exact: true })
    else if ((operator === '-eq' || operator === '==' || operator === '=') && count === 0)
      guard.least = Math.max(guard.least, 1)
    else if (operator === '-gt' || operator === '>') guard.most = count
  }
  return guard
}

/** Whether the block after a test ends the script. */
function leaves (main: string, line: string): boolean {
  const after = main.slice(main.indexOf(line))
  const [block = ''] = /^\s*if\b/.test(line)
    ? after.split(/^\s*(?:fi|else|elif)\b/m)
    : [line, ...after.split('\n').slice(1, 4)].join('\n').split(/\n(?=\S)(?!\})/)
  return /\b(?:exit|return|usage|die|abort|fail)\b/.test(block)
}

function lineAt (text: string, index: number): string {
  const end = text.indexOf('\n', index)
  return text.slice(text.lastIndexOf('\n', index - 1) + 1, end < 0 ? undefined : end)
}

function isAssigned (line: string): boolean {
  return /^\s*(?:(?:local|readonly|export|declare(?:\s+-\w+)?)\s+)?[A-Za-z_]\w*=/.test(line)
}

/** Matches the text before the variable's name in an assignment. */
const declared = '\\s*(?:(?:local|readonly|export|declare(?:\\s+-\\w+)?)\\s+)?'

/** The variable to which a positional argument is assigned. */
function variableOf (main: string, place: number): string | undefined {
  const value = `["']?\\$(?:${place}\\b|\\{${place}(?![0-9])[^}]*\\})["']?`
  const [, name] = new RegExp(`^${declared}([A-Za-z_]\\w*)=${value}\\s*(?:;|#|$|\\|\\|)`, 'm').exec(main) ?? []
  return name?.toLowerCase()
}

/** Lines that do nothing by themselves: settings, variables, closing brackets. */
const preparing = [
  /^\s*(?:set|shopt|export|readonly|declare|local|alias|unset|umask|trap)\b/,
  /^\s*[A-Za-z_]\w*\+?=\S*\s*$/,
  /^\s*[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\([^)]*\)|\$\([^)]*\))\s*$/,
  /^\s*[})]?\s*$/
]

/** Whether there is a command besides functions and settings: a file without one is only read by other scripts. */
function commandsOf (main: string): boolean {
  return main.split('\n').some(line => !preparing.some(pattern => pattern.test(line)))
}
