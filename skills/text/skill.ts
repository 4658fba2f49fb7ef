import { defineSkill } from '../../kernel/skill.ts'
import { cases, slug } from './case.ts'
import { unifiedDiff } from './diff.ts'
import { replace } from './replace.ts'

/** The longest text, in characters. */
const textMax = 1_000_000
const text = { type: 'string', description: 'The text', required: true, maxLength: textMax } as const

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const wordSegments = new Intl.Segmenter('en', { granularity: 'word' })

export default defineSkill({
  tools: {
    count: {
      description: 'Tell how long a text is: count its characters, words, lines and bytes. Characters are what a reader sees as one (grapheme clusters), code points are what Unicode counts, bytes are those of UTF-8',
      annotations: { read_only: true },
      parameters: { text },
      run: ({ text }) => ({
        characters: countOf(graphemes.segment(text)),
        code_points: countOf(text),
        words: countOf(wordSegments.segment(text), segment => segment.isWordLike === true),
        lines: text === '' ? 0 : text.split(/\r\n|\r|\n/).length - (/[\r\n]$/.test(text) ? 1 : 0),
        bytes: Buffer.byteLength(text)
      })
    },

    change_case: {
      description: 'Change the case of a text: upper, lower, title or sentence case, or an identifier\'s camel, pascal, snake, constant or kebab case (each line by itself)',
      parameters: {
        text,
        case: {
          type: 'string',
          description: 'The case wanted',
          required: true,
          enum: ['upper', 'lower', 'title', 'sentence', 'camel', 'pascal', 'snake', 'constant', 'kebab']
        }
      },
      run: ({ text, case: wanted }) => cases[wanted](text)
    },

    replace: {
      description: 'Find and replace in a text: a literal text, or a regular expression (RE2 syntax) whose groups the replacement may use as $1 or ${name}',
      annotations: { read_only: true },
      parameters: {
        text,
        find: { type: 'string', description: 'What to look for', required: true, minLength: 1, maxLength: 10_000 },
        replacement: { type: 'string', description: 'What to put in its place', default: '', maxLength: 100_000 },
        pattern: {
          type: 'boolean',
          description: 'Whether `find` is a regular expression; ^ and $ match at each line',
          default: false
        },
        ignore_case: { type: 'boolean', description: 'Find upper and lower case alike', default: false },
        first_only: { type: 'boolean', description: 'Replace the first place only', default: false }
      },
      run: async ({ text, ...how }) => (await replace(text, how)).text
    },

    lines: {
      description: 'Work on the lines of a text: sort, sort by number, remove duplicates (unique), reverse, take the first (head) or last (tail) ones, number, trim, or drop empty ones',
      annotations: { read_only: true },
      parameters: {
        text,
        operation: {
          type: 'string',
          description: 'What to do with the lines',
          required: true,
          enum: ['sort', 'sort_numeric', 'unique', 'reverse', 'head', 'tail', 'number', 'trim', 'drop_empty']
        },
        count: {
          type: 'integer', description: 'How many lines head and tail take', default: 10, minimum: 0, maximum: textMax
        },
        descending: { type: 'boolean', description: 'Sort from the last to the first', default: false },
        ignore_case: { type: 'boolean', description: 'Sort and compare without regard to case', default: false }
      },
      run ({ text, operation, count, descending, ignore_case }) {
        const ending = text.endsWith('\n') ? '\n' : ''
        const lines = (ending === '' ? text : text.slice(0, -1)).split('\n')
        const changed = onLines[operation](lines, { count, descending, ignore_case })
        return changed.length === 0 ? '' : changed.join('\n') + ending
      }
    },

    diff: {
      description: 'Compare two texts, such as two versions of one, line by line and show the difference as a unified diff; nothing when they are equal',
      annotations: { read_only: true },
      parameters: {
        before: { type: 'string', description: 'The old text', required: true, maxLength: textMax },
        after: { type: 'string', description: 'The new text', required: true, maxLength: textMax },
        context: {
          type: 'integer',
          description: 'Unchanged lines shown around each difference',
          default: 3,
          minimum: 0,
          maximum: 1000
        },
        before_name: {
          type: 'string', description: 'What to call the old text', default: 'before', pattern: '^[^\\n]{1,200}$'
        },
        after_name: {
          type: 'string', description: 'What to call the new text', default: 'after', pattern: '^[^\\n]{1,200}$'
        }
      },
      run: async ({ before, after, context, before_name, after_name }) =>
        await unifiedDiff(before, after, context, { before: before_name, after: after_name })
    },

    slug: {
      description: 'Make a slug of a title or text, for a URL or a file name: lower case, without accents and signs, words joined by hyphens',
      annotations: { read_only: true },
      parameters: {
        text: { type: 'string', description: 'The text', required: true, maxLength: 10_000 },
        length: {
          type: 'integer',
          description: 'The most characters of the slug; it is cut between words',
          default: 80,
          minimum: 1,
          maximum: 1000
        }
      },
      run ({ text, length }) {
        const made = slug(text, length)
        if (made === '') throw new Error('the text has no letters or digits to make a slug of')
        return made
      }
    }
  }
})

interface LineOptions { count: number, descending: boolean, ignore_case: boolean }

const onLines = {
  sort (lines, { descending, ignore_case }) {
    const { compare } = new Intl.Collator('en', { sensitivity: ignore_case ? 'accent' : 'variant' })
    return lines.sort((a, b) => descending ? compare(b, a) : compare(a, b))
  },
  sort_numeric (lines, { descending }) {
    const valued = lines.map(line => ({ line, value: Number.parseFloat(line) }))
    // Lines that begin with no number come last, in the order they had.
    const order = (a: number, b: number): number =>
      Number.isNaN(a) || Number.isNaN(b)
        ? Number(Number.isNaN(a)) - Number(Number.isNaN(b))
        : descending ? b - a : a - b
    return valued.sort((a, b) => order(a.value, b.value)).map(({ line }) => line)
  },
  unique (lines, { ignore_case }) {
    const first = new Map<string, string>()
    for (const line of lines) {
      const key = ignore_case ? line.toLowerCase() : line
      if (!first.has(key)) first.set(key, line)
    }
    return [...first.values()]
  },
  reverse: lines => lines.toReversed(),
  head: (lines, { count }) => lines.slice(0, count),
  tail: (lines, { count }) => count === 0 ? [] : lines.slice(-count),
  number: lines => lines.map((line, i) => `${String(i + 1).padStart(String(lines.length).length)}  ${line}`),
  trim: lines => lines.map(line => line.trim()),
  drop_empty: lines => lines.filter(line => line.trim() !== '')
} satisfies Record<string, (lines: string[], options: LineOptions) => string[]>

function countOf<T> (items: Iterable<T>, counts: (item: T) => boolean = () => true): number {
  let count = 0
  for (const item of items) if (counts(item)) count++
  return count
}
