// The setup for `npm start` and `npm test`: checks the system, installs the dependencies from the lockfile, and builds.
// Each step prints its name, and is skipped when it was done already.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const installStamp = join(root, 'node_modules', '.skillet-install')
const buildStamp = join(root, 'dist', '.skillet-build')
const sources = [
  'kernel', 'plugins', 'skills', 'test', 'bench', 'scripts/build.mjs', 'scripts/schemas.mjs', 'scripts/third-party.mjs',
  'scripts/skill-packages.mjs', 'scripts/program', 'package.json', 'tsconfig.json'
]

/** The Debian package of each command that may be needed. */
const packageOf = { git: 'git', sqlite3: 'sqlite3', python3: 'python3', make: 'make', 'g++': 'g++' }

/** @param {{ tests?: boolean }} options `tests`: whether to prepare for the tests too */
export function setUp ({ tests = false } = {}) {
  process.chdir(root)
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Skillet needs Node.js 20.19 or later; this is ${process.versions.node}. Install it from https://nodejs.org`)
  }
  // The skill `git` runs git; the tests make databases with sqlite3.
  for (const command of tests ? ['git', 'sqlite3'] : ['git']) {
    if (!missing(command)) continue
    const why = command === 'git' ? 'the skill `git` needs it' : 'the tests need it'
    const named = packageOf[command]
    const text = `The command \`${command}\` is missing: ${why}. `
      + `Install the system package \`${named}\` (Debian, Ubuntu: apt-get install ${named}).`
    if (tests) fail(text)
    else console.warn(text)
  }
  install()
  if (tests) {
    once(join(root, 'node_modules', '.skillet-tap'), installKey(), 'Preparing the test runner', () =>
      run('node_modules/tap/dist/esm/run.mjs', ['build']))
  }
  once(buildStamp, buildKey(), 'Building', () => run('scripts/build.mjs', []))
}

/**
 * Prints how to install the command `skillet`, if it is missing. It is printed on standard error, since a program may
 * read the standard output of `serve`.
 */
export function tellOfCommand () {
  const folders = (process.env.PATH ?? '').split(delimiter)
  if (!folders.some(folder => existsSync(join(folder, 'skillet')))) {
    console.error('To make `skillet` a command everywhere on this machine: npm install --global .')
  }
}

function install () {
  once(installStamp, installKey(), 'Installing dependencies from package-lock.json (a minute or so)', () => {
    const npm = process.env.npm_execpath
    const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
    // An npm without support for `allowScripts` runs all install scripts. The variables switch off two of them: a
    // download that is not needed and fails in a closed network, and a report of the installation to a third party.
    const options = {
      stdio: 'inherit',
      env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip', SCARF_ANALYTICS: 'false' }
    }
    const { status } = npm === undefined
      ? spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
      : spawnSync(process.execPath, [npm, ...args], options)
    if (status === 0) return
    const lacking = ['python3', 'make', 'g++'].filter(missing)
    fail(lacking.length === 0
      ? 'The dependencies could not be installed; the lines above say why.'
      : `The dependencies could not be installed. A native one may have had to be compiled, and these are missing: ${lacking.join(', ')}. Install the system packages (Debian, Ubuntu: apt-get install ${lacking.map(command => packageOf[command]).join(' ')}).`)
  })
}

/** Runs a step, unless the file `stamp` shows that it was done for this key. */
function once (stamp, key, what, step) {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return
  console.log(`${what}…`)
  step()
  writeFileSync(stamp, key)
}

function run (script, args) {
  try {
    execFileSync(process.execPath, [script, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
  } catch {
    fail(`${script} failed; the lines above say why.`)
  }
}

function installKey () {
  const { platform, arch, versions: { modules } } = process
  return hash([platform, arch, modules, readFileSync('package-lock.json', 'utf8')])
}

/** The hash of the names, sizes and times of the sources, and of the commit, which the build records. */
function buildKey () {
  const files = sources.flatMap(list).map(path => {
    const { size, mtimeMs } = statSync(path)
    return `${path} ${size} ${mtimeMs}`
  })
  const head = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout ?? ''
  return hash([installKey(), head, ...files])
}

function list (path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path).sort().filter(name => name !== 'node_modules').flatMap(name => list(join(path, name)))
}

function hash (parts) {
  return createHash('sha256').update(parts.join('\n')).digest('hex')
}

function missing (command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).error !== undefined
}

function fail (message) {
  console.error(message)
  process.exit(1)
}
