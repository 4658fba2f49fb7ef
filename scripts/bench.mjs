// `npm run bench [-- NAME… --quick]`: completes the setup, then runs all benchmarks, or those whose name contains a
// NAME. They run on Node 24 if uWebSockets.js loads there, since they compare with it, otherwise on Node 22; the
// version is installed from the registry if needed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { nodeFromNpm } from './node-from-npm.mjs'
import { setUp } from './setup.mjs'

setUp()
const node = chooseNode()
if (node === process.execPath) {
  installPeers()
  start(['dist/bench/run.js', ...process.argv.slice(2)])
} else {
  console.log(`The benchmarks run on ${node}.`)
  start(process.argv.slice(1)) // the setup is repeated for that version, since native addons and V8's code depend on it
}

function start (args) {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` }
  process.exitCode = spawnSync(node, args, { stdio: 'inherit', env }).status ?? 1
}

/**
 * The path of the newest Node on which uWebSockets.js loads. When there is none, the path of this Node; then the
 * comparisons with uWebSockets.js fail.
 */
function chooseNode () {
  for (const major of [24, 22]) {
    const path = process.versions.node.startsWith(`${major}.`) ? process.execPath : nodeFromNpm(major)
    if (path !== undefined && loadsUws(path)) return path
  }
  return process.execPath
}

function loadsUws (path) {
  return spawnSync(
    path,
    ['--input-type=module', '--eval', 'await (await import("./dist/plugins/http/engine/uws.js")).loadUws()'],
    { stdio: 'ignore' }
  ).status === 0
}

/** Installs packages that only comparisons need. If that fails, these comparisons are left out. */
function installPeers () {
  const stamp = 'bench/peers/node_modules/.skillet-install'
  const key = `${process.versions.modules} ${readFileSync('bench/peers/package-lock.json', 'utf8')}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return
  console.log('Installing what the benchmarks compare with, into bench/peers (minutes, where better-sqlite3 must be compiled)…')
  const { status } =
    spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: 'bench/peers', stdio: 'inherit' })
  if (status === 0) writeFileSync(stamp, key)
  else console.error('They could not be installed; the comparison with Fastify is left out.')
}
