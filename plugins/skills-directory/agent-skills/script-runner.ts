import { closeSync, openSync, readSync } from 'node:fs'
import { basename, extname } from 'node:path'

export type Language = 'python' | 'node' | 'shell'

/** The interpreter of a script without a `#!` line, by its ending. For Node.js it is the version that runs Skillet. */
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

/** The way in which a script is run. */
export interface Runner {
  language: Language | undefined
  /** The command, including the script's path. */
  command: readonly string[]
  /** The interpreter and its options, without the script's path; empty for a binary. */
  interpreter: readonly string[]
  /** Whether its mode or its first line marks it as a program. */
  marked: boolean
}

/** Finds out how a file is run: by itself, by the interpreter in its `#!` line, or by its ending. */
export function runnerOf (path: string, head: Buffer, executable: boolean): Runner | undefined {
  const ending = extname(path).toLowerCase()
  const [, line] = /^#!\s*([^\n]*)/.exec(head.toString('utf8', 0, 512)) ?? []
  if (line !== undefined) {
    const words = line.trim().split(/\s+/)
    const [program = '', ...rest] = words[0]?.endsWith('/env') === true ? words.slice(words[1] === '-S' ? 2 : 1) : words
    if (program === '') return undefined
    const interpreter = [program, ...rest]
    const language = languageOf(program)
    // Libraries have a `#!` line too. So where the source can be read, only the mode marks the file as a program.
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
  // A shell runs such a file as a shell script. A file with another ending is data with a wrong mode.
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

/** Whether a file begins with the signature of ELF or Mach-O. */
export function isBinary (head: Buffer): boolean {
  return ['7f454c46', 'feedfacf', 'cffaedfe', 'feedface', 'cafebabe'].includes(head.toString('hex', 0, 4))
}

/** The first bytes of a file. */
export function headOf (path: string, bytes: number): Buffer {
  const descriptor = openSync(path, 'r')
  try {
    const head = Buffer.alloc(bytes)
    return head.subarray(0, readSync(descriptor, head, 0, head.length, 0))
  } finally {
    closeSync(descriptor)
  }
}
