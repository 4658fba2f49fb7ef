import { within, type Confinement } from '../../../kernel/index.ts'
import { confinedProgram } from '../../toolkit/sandbox/confined-program.ts'
import type { Lacking } from '../../toolkit/sandbox/levels.ts'
import { startConfined } from './confined-server.ts'
import { LastWords } from './last-words.ts'

/** How long the probe may take, in milliseconds. */
const probe_ms = 20_000

/** What this machine lacks for each level at which servers run: a small command is started in the sandbox. */
export async function tryServerLevels (): Promise<Lacking> {
  const sandbox = await whyNot('sandbox')
  return { sandbox, strict: sandbox ?? await whyNot('strict') }
}

async function whyNot (level: Confinement): Promise<string | undefined> {
  const file = confinedProgram()
  if (file === undefined) return 'the part in C was not built: it needs Linux and a C compiler (npm run build)'
  const command = {
    level, network: false, writable: [], hidden: [], cwd: '/', env: {}, args: [process.execPath, '--version'],
    paths: [{ path: '/', access: 'read' as const }, { path: process.execPath, access: 'read' as const }]
  }
  const server = await startConfined({ file, command, openWayOut: undefined })
  const words = new LastWords(server.stderr)
  const output = server.stdout.setEncoding('utf8').toArray()
  const hasEnded = await within(probe_ms, server.exited)
  await server.end()
  if (!hasEnded) return 'a program in the sandbox did not end'
  return (await output).join('').startsWith('v') ? undefined : words.line || 'a program in the sandbox says nothing'
}
