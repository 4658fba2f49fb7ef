// Builds dist/: compiles, copies what is not code, and writes what the program says of itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
process.chdir(root)

rmSync('dist', { recursive: true, force: true })
const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc'], { stdio: 'inherit' })
if (status !== 0) process.exit(1)

// Manifests and instructions of the bundled skills, and the fixtures that tests load from disk.
const notCode = source => !/\.(ts|map)$/.test(source)
for (const folder of ['skills', 'test/fixtures']) {
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true, filter: notCode })
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
mkdirSync('dist', { recursive: true })
writeFileSync('dist/build-info.json', JSON.stringify({ version, commit: commit(), build_date: new Date().toISOString().slice(0, 10) }))

function commit () {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}
