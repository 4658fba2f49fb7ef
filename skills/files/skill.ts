import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { defineSkill, type ToolContext } from '../../kernel/skill.ts'
import { Roots, type Opened } from '../shared/roots.ts'
import { finder, isBinary, linesOf } from './text.ts'
import { kindOf, matcher, noteOf, walk, type Omitted } from './walk.ts'

/** Texts read and found are cut at this length, in characters. */
const outputMax = 500_000
/** Larger files are not searched, in bytes. */
const searchBytesMax = 16 * 1_048_576

const path = {
  type: 'string',
  description: 'The folder: absolute, beginning with `~/`, or relative to the first allowed folder (where Skillet runs, unless configured)',
  default: '.',
  minLength: 1,
  maxLength: 4096
} as const
const file = {
  type: 'string',
  description: 'The file: absolute, beginning with `~/`, or relative to the first allowed folder (where Skillet runs, unless configured)',
  required: true,
  minLength: 1,
  maxLength: 4096
} as const
const hidden =
  { type: 'boolean', description: 'Include files and folders whose name begins with a dot', default: false } as const
const exclude = {
  type: 'array',
  description: 'Globs of what to leave out; one without a slash matches a name at any depth',
  items: { type: 'string' },
  maxItems: 100,
  default: ['node_modules']
} as const
const limit = { type: 'integer', description: 'The most results', default: 1000, minimum: 1, maximum: 10_000 } as const

export default defineSkill({
  tools: {
    list: {
      description: 'List the files and folders in a folder (directory) with their kind, size in bytes and time of the last change',
      annotations: { read_only: true },
      parameters: { path, hidden, limit },
      async run ({ path, hidden, limit }, context) {
        const roots = await Roots.of(context.config)
        const folder = await roots.real(path)
        const entries = (await roots.entries(folder)).filter(({ name }) => hidden || !name.startsWith('.'))
        const shown = []
        for (const entry of entries.slice(0, limit)) {
          const stats = await lstat(join(folder, entry.name)).catch(() => undefined) // gone in the meantime
          if (stats !== undefined) {
            shown.push({
              name: entry.name, kind: kindOf(entry), ...(entry.isFile() && { size: stats.size }),
              modified: stats.mtime.toISOString()
            })
          }
        }
        return {
          path: roots.show(folder),
          entries: shown,
          ...(entries.length > limit && { more: entries.length - limit })
        }
      }
    },

    tree: {
      description: 'Show the folders and files below a folder as a tree: the structure of a project at a glance',
      annotations: { read_only: true },
      parameters: {
        path,
        depth: { type: 'integer', description: 'How many levels deep', default: 3, minimum: 1, maximum: 20 },
        hidden,
        exclude,
        limit
      },
      async run ({ path, depth, hidden, exclude, limit }, context) {
        const roots = await Roots.of(context.config)
        const top = await roots.real(path)
        const omitted: Omitted = { unreadable: 0, cut: false }
        const lines = [roots.show(top)]
        const signs = { file: '', folder: '/', link: '@', other: '' }
        let full = false
        const found = walk(roots, top, { hidden, depth, exclude }, omitted, context.signal)
        for await (const { name, kind, depth: level } of found) {
          if (lines.length > limit) {
            full = true
            break
          }
          lines.push(`${'  '.repeat(level)}${name}${signs[kind]}`)
        }
        return withNote(lines, noteOf(omitted, full ? [`cut at ${limit} entries`] : []))
      }
    },

    stat: {
      description: 'Tell about a file or folder: kind, size in bytes, when it was created and changed, who may read or write it (permissions), and its path without symbolic links',
      annotations: { read_only: true },
      parameters: { path: file },
      async run ({ path }, context) {
        return await opened(path, context, async ({ stats, path: real }) => ({
          path: real,
          kind: kindOf({
            isFile: () => stats.isFile(), isDirectory: () => stats.isDirectory(), isSymbolicLink: () => false
          }),
          size: stats.size,
          mode: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
          modified: stats.mtime.toISOString(),
          created: stats.birthtime.toISOString()
        }))
      }
    },

    read: {
      description: 'Read a text file: show the contents of a file, whole or a range of its lines',
      annotations: { read_only: true },
      parameters: {
        path: file,
        from: { type: 'integer', description: 'First line, counted from 1', default: 1, minimum: 1 },
        lines: { type: 'integer', description: 'How many lines', default: 2000, minimum: 1, maximum: 100_000 },
        numbers: { type: 'boolean', description: 'Begin each line with its number', default: false }
      },
      timeout_ms: 60_000,
      async run ({ path, from, lines: count, numbers }, context) {
        return await openedFile(path, context, async found => {
          if (await isBinary(found.handle)) throw new Error(`${path} is a binary file; read_bytes reads it`)
          const lines: string[] = []
          let at = 0
          let length = 0
          for await (const line of linesOf(found.handle, context.signal)) {
            if (++at < from) continue
            if (lines.length === count) return withNote(lines, `(there is more; go on with from = ${at})`)
            lines.push(numbers ? `${at}\t${line}` : line)
            if ((length += line.length + 1) > outputMax) {
              return withNote(lines, `(cut at ${outputMax} characters; go on with from = ${at + 1})`)
            }
          }
          if (from > 1 && lines.length === 0) throw new Error(`${path} has ${at} lines; there is no line ${from}`)
          return lines.join('\n') + (lines.length > 0 ? '\n' : '')
        })
      }
    },

    read_bytes: {
      description: 'Read bytes of a file, binary ones too, from an offset, as hex or base64',
      annotations: { read_only: true },
      parameters: {
        path: file,
        offset: { type: 'integer', description: 'Where to begin, in bytes', default: 0, minimum: 0 },
        length: { type: 'integer', description: 'How many bytes', default: 256, minimum: 1, maximum: 262_144 },
        encoding: { type: 'string', description: 'How they are written', enum: ['hex', 'base64'], default: 'hex' }
      },
      async run ({ path, offset, length, encoding }, context) {
        return await openedFile(path, context, async found => {
          const { buffer, bytesRead } = await found.handle.read(Buffer.alloc(length), 0, length, offset)
          return buffer.subarray(0, bytesRead).toString(encoding)
        })
      }
    },

    find: {
      description: 'Find files and folders by name or path: where a file is, with a glob such as *.ts or src/**/*.test.js',
      annotations: { read_only: true },
      parameters: {
        glob: {
          type: 'string',
          description: 'The glob; one without a slash matches a name at any depth, one with a slash the path below `path`',
          required: true,
          minLength: 1,
          maxLength: 1000
        },
        path,
        kind: { type: 'string', description: 'What to find', enum: ['any', 'file', 'folder', 'link'], default: 'any' },
        hidden,
        exclude,
        limit
      },
      timeout_ms: 60_000,
      async run ({ glob, path, kind, hidden, exclude, limit }, context) {
        const roots = await Roots.of(context.config)
        const top = await roots.real(path)
        const matches = matcher([glob])
        const omitted: Omitted = { unreadable: 0, cut: false }
        const found: string[] = []
        for await (const entry of walk(roots, top, { hidden, exclude }, omitted, context.signal)) {
          if ((kind !== 'any' && entry.kind !== kind) || !matches(entry.relative)) continue
          if (found.length === limit) return withNote(found, noteOf(omitted, [`cut at ${limit} results`]))
          found.push(roots.show(entry.path))
        }
        return withNote(found, noteOf(omitted))
      }
    },

    search: {
      description: 'Search for a word, a text or a regular expression in the contents of files, such as source code (grep): lines that match, as path:line:text',
      annotations: { read_only: true },
      parameters: {
        text: { type: 'string', description: 'What to look for', required: true, minLength: 1, maxLength: 10_000 },
        path: { ...path, description: 'The folder, or one file: absolute, beginning with `~/`, or relative to the first allowed folder' },
        pattern:
          { type: 'boolean', description: 'Whether `text` is a regular expression (RE2 syntax)', default: false },
        ignore_case: { type: 'boolean', description: 'Find upper and lower case alike', default: false },
        glob: {
          type: 'string',
          description: 'Only in files that this glob matches, such as *.ts',
          default: '**',
          minLength: 1,
          maxLength: 1000
        },
        hidden,
        exclude,
        limit
      },
      timeout_ms: 120_000,
      async run ({ text, path, pattern, ignore_case, glob, hidden, exclude, limit }, context) {
        const roots = await Roots.of(context.config)
        const top = await roots.real(path)
        const matches = matcher([glob])
        const omitted: Omitted = { unreadable: 0, cut: false }
        const search = {
          roots, has: await finder(text, pattern, ignore_case), limit, lines: [] as string[], length: 0, larger: 0,
          signal: context.signal
        }
        const single = (await lstat(top)).isFile()
        if (single) {
          await (await roots.open(top)).handle.close() // that a file asked for can't be read is told
          await searchFile(top, search)
        } else {
          for await (const entry of walk(roots, top, { hidden, exclude }, omitted, context.signal)) {
            if (entry.kind !== 'file' || !matches(entry.relative)) continue
            if (!await searchFile(entry.path, search)) break
          }
        }
        const notes = [
          ...(search.larger > 0
            ? [`${search.larger} files larger than ${searchBytesMax} bytes were not searched`]
            : []),
          ...(isFull(search) ? ['cut: there may be more'] : [])
        ]
        return withNote(search.lines, noteOf(omitted, notes))
      }
    }
  }
})

interface Search {
  roots: Roots
  has: (line: string) => boolean
  limit: number
  lines: string[]
  length: number
  larger: number
  signal: AbortSignal
}

function isFull ({ lines, limit, length }: Search): boolean {
  return lines.length >= limit || length > outputMax
}

/** Adds the lines of a file that are looked for. @returns whether to go on */
async function searchFile (path: string, search: Search): Promise<boolean> {
  const found = await search.roots.open(path).catch(() => undefined) // gone, replaced or not readable
  if (found === undefined) return true
  try {
    if (!found.stats.isFile() || await isBinary(found.handle)) return true
    if (found.stats.size > searchBytesMax) search.larger++
    else {
      let number = 0
      for await (const line of linesOf(found.handle, search.signal)) {
        number++
        if (!search.has(line)) continue
        const hit = `${search.roots.show(path)}:${number}:${line}`
        search.length += hit.length
        search.lines.push(hit)
        if (isFull(search)) return false
      }
    }
    return true
  } finally {
    await found.handle.close()
  }
}

async function opened<T> (path: string, { config }: ToolContext, use: (found: Opened) => Promise<T>): Promise<T> {
  const roots = await Roots.of(config)
  const found = await roots.open(await roots.real(path))
  try {
    return await use(found)
  } finally {
    await found.handle.close()
  }
}

async function openedFile<T> (path: string, context: ToolContext, use: (found: Opened) => Promise<T>): Promise<T> {
  return await opened(path, context, async found => {
    if (!found.stats.isFile()) throw new Error(`${path} is not a regular file`)
    return await use(found)
  })
}

function withNote (lines: readonly string[], note: string): string {
  return [...lines, ...(note === '' ? [] : [note])].map(line => `${line}\n`).join('')
}
