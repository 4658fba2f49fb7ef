import type { Lacking } from '../../toolkit/sandbox/levels.ts'
import type { HelperProgram } from '../helper-program.ts'
import { whyNoSandbox } from './probe.ts'

/** Tries out each level of isolation for commands. */
export async function tryLevels (program: HelperProgram | undefined): Promise<Lacking> {
  const sandbox = await whyNoSandbox(program)
  return { sandbox, strict: sandbox ?? await whyNoSandbox(program, 'strict') }
}
