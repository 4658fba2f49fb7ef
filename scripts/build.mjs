// Builds dist/: compiles the code, copies the other files, and writes the build information.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildProgram, keepCode } from './program/build.mjs'
import { bundleSkillPackages } from './skill-packages.mjs'
import { copyThirdParty } from './third-party.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
process.chdir(root)

const { version, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

rmSync('dist', { recursive: true, force: true })
// An optional package may be missing, for example when there is no compiler. The program runs without it, but its types
// can't be checked.
const missing = Object.keys(optionalDependencies).filter(name => !existsSync(`node_modules/${name}`))
if (missing.length > 0) {
  console.log(`Types are not checked, since these optional packages are not installed: ${missing.join(', ')}`)
}
const { status } = spawnSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', ...(missing.length > 0 ? ['--noCheck'] : [])],
  { stdio: 'inherit' }
)
if (status !== 0) process.exit(1)

// The manifests and instructions of the bundled skills, and the fixtures that tests load from disk.
const notCode = source => !/\.(ts|map)$/.test(source)
for (const folder of ['skills', 'test/fixtures']) {
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true, filter: notCode })
}

const helper = ['executor-native/helper', 'executor-native/strays']
const sandbox =
  ['sandbox', 'marks', 'proxy-listener', 'starter', 'strict', 'use'].map(name => `toolkit/sandbox/${name}`)
compileC('executor-native/helper', 'commands run through the one in Node', { sources: helper })
compileC('executor-native/sandbox', 'commands of skills that are not trusted run without a sandbox', {
  // A process that is linked statically is copied in half the time, which the level `strict` does for each command.
  flags: ['-DSANDBOX', '-pthread', '-Iplugins/toolkit'], optional: ['-static'], sources: [...helper, ...sandbox]
})
compileC('toolkit/sandbox/program', 'scripts of skills that are not trusted run without a sandbox', {
  flags: ['-pthread'], sources: ['toolkit/sandbox/program', 'toolkit/sandbox/watch', ...sandbox]
})
compileC('mcp/transports/relay', 'a command can find what `skillet mcp` says to its client where that gave pipes', {
  flags: ['-pthread']
})
compileC('storage-lmdb/close-on-exec', "programs that tools start are passed the history's descriptor", { addon: true })
await copyThirdParty()
await bundleSkillPackages()
await import('./schemas.mjs')

const shared = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Native packages, packages that load files from their own folder, and packages that only some calls need.
  external: [
    'esbuild', 'lmdb', 'piscina', 'pino', 'uWebSockets.js', '@btc-vision/uwebsockets.js', 'hnswlib-node',
    '@huggingface/transformers', 'jsonc-parser', '@bytecodealliance/jco-transpile'
  ],
  logLevel: 'warning'
}

// The entries of threads and of short processes are bundled into one file each, since each of them loads all modules
// again, and loading hundreds of small modules would take most of its time. Their modules share no state with the main
// thread, so they may exist twice.
await build({
  ...shared,
  entryPoints: [
    'dist/plugins/skills-directory/reader/worker.js', 'dist/plugins/executor-worker/thread/worker.js',
    'dist/plugins/executor-worker/process/entry.js', 'dist/plugins/toolkit/wasm/host/index.js',
    'dist/plugins/skills-directory/process/entry.js', 'dist/plugins/skill-engine/process/entry.js',
    'dist/plugins/search-hnsw/meaning/thread.js', 'dist/plugins/storage-lmdb/care/process.js',
    'dist/plugins/storage-lmdb/text/thread.js'
  ],
  outdir: 'dist/plugins',
  outbase: 'dist/plugins',
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  sourcemap: true,
  allowOverwrite: true
})

await buildProgram(shared)

writeFileSync(
  'dist/build-info.json',
  JSON.stringify({ version, commit: commit(), build_date: new Date().toISOString().slice(0, 10) })
)

await keepCode()

function commit () {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()
  } catch {
    return 'unknown'
  }
}

/**
 * Compiles a C program or Node addon if a compiler can.
 * @param without the consequence of a failure, for a warning
 * @param more `optional`: flags that are left out where it can't be built with them
 */
function compileC (name, without, { flags = [], optional = [], addon = false, sources = [name] } = {}) {
  if (process.platform !== 'linux') return
  const file = `dist/plugins/${name}-${process.platform}-${process.arch}${addon ? '.node' : ''}`
  const options = ['-O2', '-Wall', '-Wextra', '-Werror', ...(addon ? ['-shared', '-fPIC'] : []), ...flags]
  const compile = more => {
    const paths = sources.map(source => `plugins/${source}.c`)
    const result = spawnSync(
      process.env.CC ?? 'cc', [...options, ...more, '-o', file, ...paths], { encoding: 'utf8' }
    )
    return { ...result, works: result.status === 0 && (addon || spawnSync(file, ['--check']).status === 0) }
  }
  let result = compile(optional)
  if (!result.works && optional.length > 0) result = compile([])
  if (result.error !== undefined || result.works) return
  rmSync(file, { force: true })
  console.warn(`plugins/${name}.c could not be built: ${without}.\n${result.stderr}`)
}
