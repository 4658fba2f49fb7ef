import { closeSync, openSync, readSync } from 'node:fs'
import { basename, extname } from 'node:path'

export type Language = 'python' | 'node' | 'shell'

/** What runs a script that does not say it itself, by its ending. Node.js is the one that runs this program. */
const byEnding: Readonly<Record<string, { language: Language, command: readonly string[] }>> = {
  '.py': { language: 'python', command: ['python3'] },
  '.sh': { language: 'shell', command: ['bash'] },
  '.bash': { language: 'shell', command: ['bash'] },
  '.js': { language: 'node', command: [process.execPath] },
  '.mjs': { language: 'node', command: [process.execPath] },
  '.cjs': { language: 'node', command: [process.execPath] },
  '.ts': {
    language: 'node',
    command: [process.execPath, '--import', new URL('../reader/typescript.js', import.meta.url).href]
  }
}

/** How a script is run. */
export interface Runner {
  language: Language | undefined
  /** The command with the script's path in it. */
  command: readonly string[]
  /** What runs it, as far as it is not the script itself. */
  interpreter: readonly string[]
  /** Whether it is marked as a program, by its first line and its mode. */
  marked: boolean
}

/** How a file is run, if it can be: by itself, by what its first line names, or by what its ending tells. */
export function runnerOf (path: string, head: Buffer, executable: boolean): Runner | undefined {
  const ending = extname(path).toLowerCase()
  const [, line] = /^#!\s*([^\n]*)/.exec(head.toString('utf8', 0, 512)) ?? []
  if (line !== undefined) {
    const words = line.trim().split(/\s+/)
    const [program = '', ...rest] = words[0]?.endsWith('/env') === true ? words.slice(words[1] === '-S' ? 2 : 1) : words
    if (program === '') return undefined
    const interpreter = [program, ...rest]
    const language = languageOf(program)
    // The first line of a library says the same; only its mode makes it a program where the source can be read.
    const common = { language, interpreter, marked: executable || language === undefined }
    return executable && !line.endsWith('\r')
      ? { ...common, command: [path] }
      : { ...common, command: [...interpreter, path] }
  }
  const runner = byEnding[ending]
  if (runner !== undefined)
    return { language: runner.language, command: [...runner.command, path], interpreter: runner.command, marked: false }
  if (!executable) return undefined
  if (isBinary(head)) return { language: undefined, command: [path], interpreter: [], marked: true }
  // What a shell would do. Files with another ending are data whose mode was lost on the way.
  return ending === '' ? { language: 'shell', command: ['sh', path], interpreter: ['sh'], marked: true } : undefined
}

function languageOf (program: string): Language | undefined {
  const name = basename(program)
  return /^python[\d.]*$/.test(name) || name === 'uv'
    ? 'python'
    : /^(?:ba|da|k|z|a)?sh$/.test(name)
      ? 'shell'
      : name === 'node' || name === 'nodejs'
        ? 'node'
        : undefined
}

/** ELF, and the four of Mach-O. */
export function isBinary (head: Buffer): boolean {
  return ['7f454c46', 'feedfacf', 'cffaedfe', 'feedface', 'cafebabe'].includes(head.toString('hex', 0, 4))
}

/** The beginning of a file, up to so many bytes. */
export function headOf (path: string, bytes: number): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const head = Buffer.alloc(bytes)
    return head.subarray(0, readSync(descriptor, head, 0, head.length, 0))
  } finally {
    closeSync(descriptor)
  }
}
