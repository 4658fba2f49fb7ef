import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Compiles a C program of bench/ with the system's compiler.
 * @param source `bench/lib/load.c`
 * @returns the path of the program; undefined where there is no compiler
 * @throws Error where there is one that does not take it
 */
export function compiled (source: string): string | undefined {
  const program = join(root, 'dist', source.replace(/\.c$/, ''))
  mkdirSync(dirname(program), { recursive: true })
  const { status, error } = spawnSync(
    process.env['CC'] ?? 'cc',
    ['-O2', '-Wall', '-Wextra', '-Werror', '-o', program, join(root, source)],
    { stdio: ['ignore', 'inherit', 'inherit'] }
  )
  if (error !== undefined) return undefined
  if (status !== 0) throw new Error(`${source} does not compile`)
  return program
}
