// `npm run bench [-- NAME… --quick]`: sets up what is missing, then runs every benchmark, or those whose name contains a NAME.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setUp } from './setup.mjs'

setUp()
installPeers()
const { status } = spawnSync(process.execPath, ['dist/bench/run.js', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 1

/** What the benchmarks compare with and the product does not need. Without it, those comparisons are left out. */
function installPeers () {
  const stamp = 'bench/peers/node_modules/.skillet-install'
  const key = `${process.versions.modules} ${readFileSync('bench/peers/package-lock.json', 'utf8')}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return
  console.log('Installing what the benchmarks compare with, into bench/peers (minutes, where better-sqlite3 must be compiled)…')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: 'bench/peers', stdio: 'inherit' })
  if (status === 0) writeFileSync(stamp, key)
  else console.error('They could not be installed; the comparison with Fastify is left out.')
}
