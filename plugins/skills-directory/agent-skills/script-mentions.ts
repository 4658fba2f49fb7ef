import { readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { isThere, readText } from '../shared/files.ts'
import type { Folder } from '../shared/protocol.ts'
import { isInstructions, REFERENCES, SCRIPTS } from '../shared/script-files.ts'

/** The limits of the texts that are searched for names of scripts: their number, the bytes of each, and all bytes. */
const textsMax = 50
const textBytesMax = 262_144
const textsBytesMax = 1_048_576

const runners = 'python[\\d.]*|bash|sh|zsh|node|tsx|ruby|perl|uv run|npx|deno run'
/** Matches the text before a script's name in a call: the interpreter, its options, and possibly folders. */
const called = new RegExp(`(?:^|[\\s\`$(;&|])(?:${runners})\\s+(?:-\\S+\\s+)*(?:["']?[\\w./$\\{}-]*/)?$`)

/** The mentions of a script in the instructions. */
export interface Mention {
  named: boolean
  /** The first call with arguments: the script's name and its arguments. */
  usage?: string
  /** Whether each of the calls has arguments. */
  always: boolean
}

/** The instructions of a skill, and the Markdown files in its folder and its folders of references. */
export function instructionTexts ({ path }: Folder, instructions: string): string[] {
  const texts = [instructions]
  let left = textsBytesMax
  for (const folder of ['.', ...REFERENCES]) {
    const at = join(path, folder)
    if (folder !== '.' && !isThere(at)) continue
    for (const name of markdownIn(at)) {
      if (texts.length >= textsMax || left <= 0) return texts
      if (folder === '.' && /^skill\.md$/i.test(name)) continue
      try {
        const text = readText(join(at, name), Math.min(left, textBytesMax))
        left -= text.length
        texts.push(text)
      } catch {} // too large, or not a text: it has no mentions
    }
  }
  return texts
}

function markdownIn (folder: string): string[] {
  try {
    return readdirSync(folder).filter(isInstructions).sort()
  } catch {
    return []
  }
}

/** Finds the mentions of a script in texts. @param file the script's path within `scripts/` */
export function mentionOf (texts: readonly string[], file: string): Mention {
  const stem = file.slice(0, file.length - extname(file).length)
  const module = `${SCRIPTS}.${stem.replaceAll('/', '.')}`
  const name = file.split('/').at(-1) ?? file
  const tails: string[] = []
  let named = false
  for (const text of texts) {
    if (!text.includes(stem.split('/').at(-1) ?? stem)) continue
    for (const { line, at, length } of [
      ...placesOf(text, `${SCRIPTS}/${stem}`, extname(file)),
      ...placesOf(text, module, ''),
      ...placesOf(text, name, '')
    ]) {
      const before = line.slice(0, at)
      const run = called.test(before)
      const full = line.startsWith(`${SCRIPTS}/`, at) || line.startsWith(`${SCRIPTS}.`, at)
      if (/\b(?:from|import)\s+$/.test(before) || (!full && /\bscripts\/\S*$/.test(before))) continue
      named ||= run || line.startsWith(`${SCRIPTS}/`, at)
      const direct =
        line.startsWith(`${SCRIPTS}/`, at)
        && /^\s*(?:\$ )?(?:\.\/)?$/.test(before)
        && /\s/.test(line[at + length] ?? '')
      if (run || direct) tails.push(tailOf(line.slice(at + length)))
    }
  }
  const usages = tails.filter(tail => tail !== '')
  return {
    named,
    always: tails.length > 0 && usages.length === tails.length,
    ...(usages[0] !== undefined && { usage: `${name} ${usages[0]}` })
  }
}

interface Place {
  line: string
  at: number
  length: number
}

/**
 * The places of a word, with its ending if it has one, and the line around each place. A line that ends with `\`
 * continues in the next line.
 */
function placesOf (text: string, word: string, ending: string): Place[] {
  const places: Place[] = []
  for (
    let index = text.indexOf(word);
    index >= 0 && places.length < 50;
    index = text.indexOf(word, index + word.length)
  ) {
    const length = word.length + (text.startsWith(ending, index + word.length) ? ending.length : 0)
    if (/[\w-]/.test(text[index - 1] ?? '') || /^(?:[\w-]|[./]\w)/.test(text.slice(index + length, index + length + 2)))
      continue
    const from = text.lastIndexOf('\n', index) + 1
    const [line = ''] = /^(?:[^\n\\]|\\\r?\n|\\.)*/.exec(text.slice(from, from + 2_000)) ?? []
    places.push({ line: line.replaceAll(/\\\r?\n\s*/g, match => ' '.repeat(match.length)), at: index - from, length })
  }
  return places
}

/** The arguments after a script's name in a call. */
function tailOf (text: string): string {
  const [call = ''] = text.replace(/^["']/, '').split(/`|\s+#\s|\s+(?:&&|\|\||\|)\s|\s+>{1,2}\s|;\s/)
  return call.replace(/\s+/g, ' ').trim().slice(0, 300)
}
