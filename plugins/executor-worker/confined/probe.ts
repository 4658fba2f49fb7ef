import { isObject, type Confinement } from '../../../kernel/index.ts'
import { ConfinedProgram } from '../../toolkit/sandbox/confined-program.ts'
import type { Lacking } from '../../toolkit/sandbox/levels.ts'
import { threadEnvironment } from '../main/environment.ts'
import type { ProcessData } from '../shared/process-protocol.ts'
import { how } from './call.ts'
import { neededPaths, nodeArguments } from './node-program.ts'

/** How long the probe may take, in milliseconds. */
const probe_ms = 20_000
const data: ProcessData = { output_bytes_max: 1, memory_bytes_kept_max: 1, listed: false }
const heap_mib = 64

/**
 * Whether this machine can confine scripts at a level: a process of its own enters the sandbox, and says that it is
 * ready.
 * @param file the program in C that enters the sandbox
 * @returns undefined when it works; otherwise the part that is missing
 */
export async function whyNoScriptSandbox (
  file: string | undefined, level: Confinement = 'sandbox'
): Promise<string | undefined> {
  if (file === undefined) return 'the part in C was not built: it needs Linux and a C compiler (npm run build)'
  let isReady = false
  const program = new ConfinedProgram(file, {
    level, network: false, writable: [], hidden: [], paths: [{ path: '/', access: 'read' }, ...neededPaths()], cwd: '/',
    args: nodeArguments(data, heap_mib),
    env: threadEnvironment(process.env),
    frameBytesMax: 1_024,
    take (value) {
      isReady ||= isObject(value) && value['type'] === 'ready'
      program.kill()
    }
  })
  program.hold(true)
  const timer = setTimeout(() => { program.kill() }, probe_ms)
  const end = await program.ended
  clearTimeout(timer)
  if (isReady) return undefined
  return end.stderr.trim().split('\n').at(-1) || `a confined process of Node ended ${how(end)}`
}

/** What this machine lacks for each level at which scripts run. */
export async function tryScriptLevels (file: string | undefined): Promise<Lacking> {
  const sandbox = await whyNoScriptSandbox(file)
  return { sandbox, strict: sandbox ?? await whyNoScriptSandbox(file, 'strict') }
}
