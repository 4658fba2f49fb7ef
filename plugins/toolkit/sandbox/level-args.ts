import { homedir } from 'node:os'
import type { Confinement } from '../../../kernel/index.ts'

/** The arguments of a program in C for its level. */
export function levelArgs (level: Confinement): string[] {
  const home = homedir()
  return ['--level', level, ...(level === 'strict' && home !== '/' ? ['--home', home] : [])]
}
