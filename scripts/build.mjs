// Builds dist/: compiles, copies what is not code, and writes what the program says of itself.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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

// What runs in threads is bundled, each entry into one file at its place: a thread loads every module anew, and hundreds
// of small ones take it longer than all else it does. Nothing is shared with the main thread that could be there twice.
await build({
  entryPoints: ['dist/plugins/skills-directory/worker.js', 'dist/plugins/executor-worker/worker.js'],
  outdir: 'dist/plugins',
  outbase: 'dist/plugins',
  allowOverwrite: true,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: ['esbuild'], // it finds its binary beside its own files
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  sourcemap: true,
  logLevel: 'warning'
})

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
