// Installs a version of Node from the registry, for continuous integration and benchmarks: `node
// scripts/node-from-npm.mjs MAJOR` prints the path of its program. The version is kept in .node/, since node_modules
// and dist may be deleted.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** @returns the absolute path; undefined when there is none for this platform, or the registry can't be reached */
export function nodeFromNpm (major) {
  const { platform, arch } = process
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}`
  const folder = join(root, '.node', String(major))
  const path = join(folder, 'node_modules', name, platform === 'win32' ? 'bin/node.exe' : 'bin/node')
  if (!existsSync(path)) {
    spawnSync(
      'npm',
      ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${major}`],
      { stdio: ['ignore', 'ignore', 'inherit'], shell: platform === 'win32' }
    )
  }
  return existsSync(path) ? path : undefined
}

if (basename(process.argv[1] ?? '') === 'node-from-npm.mjs') {
  const path = nodeFromNpm(process.argv[2])
  if (path === undefined) process.exit(1)
  console.log(path)
}
