import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AllowedPath } from '../../toolkit/sandbox/rules.ts'
import type { ProcessData } from '../shared/process-protocol.ts'

/** The program that runs in a confined process. */
const entry = fileURLToPath(new URL('../process/entry.js', import.meta.url))
/** It says which kind of modules the entry is. */
const packageFile = fileURLToPath(new URL('../../../../package.json', import.meta.url))

/** Such a process has its own way to the proxy, in every version of Node; programs that it starts have that of Node. */
const withoutNodes = process.allowedNodeEnvironmentFlags.has('--use-env-proxy') ? ['--no-use-env-proxy'] : []

/** The arguments of the process. @param heap_mib the limit of its heap, in MiB */
export function nodeArguments (data: ProcessData, heap_mib: number): string[] {
  const flags = data.listed ? withoutNodes : []
  return [process.execPath, `--max-old-space-size=${heap_mib}`, ...flags, entry, JSON.stringify(data)]
}

/** What Node itself and the entry need, where other rules open only what they name. */
export function neededPaths (): AllowedPath[] {
  const paths = new Set([process.execPath, realpathSync(process.execPath), dirname(dirname(entry)), packageFile])
  return Array.from(paths, path => ({ path, access: 'read' }))
}
