// `npm test`: sets up what is missing, then runs every test, or those whose path contains an argument. Prints a line for
// each file and whatever failed, keeps everything in dist/test-results.tap, and ends with a line `N passed, N failed`.
import { spawn } from 'node:child_process'
import { createWriteStream, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setUp } from './setup.mjs'

setUp({ tests: true })
const wanted = process.argv.slice(2)
const files = list('dist/test').filter(path => path.endsWith('.test.js') && (wanted.length === 0 || wanted.some(part => path.includes(part))))
if (files.length === 0) {
  console.error(`No test file's path contains ${wanted.join(' or ')}.`)
  process.exit(1)
}

// The runner would leave a core alone; many tests wait for processes and timers.
const results = createWriteStream('dist/test-results.tap')
const tap = spawn(process.execPath, ['node_modules/tap/dist/esm/run.mjs', '--reporter=tap', `--jobs=${availableParallelism()}`, ...files], { stdio: ['ignore', 'pipe', 'inherit'] })
let passed = 0
let failed = 0
let shown = false // the description of a failure, up to its closing `...`
for await (const line of createInterface({ input: tap.stdout })) {
  results.write(`${line}\n`)
  const [, not, skipped] = /^\s*(not )?ok \d+(?:.*(# SKIP\b))?/.exec(line) ?? []
  // Each failure counts where it stands; around it, tests and files fail again. Of what passed, only assertions count.
  const isTest = /# time=/.test(line)
  if (/^\s*ok \d/.test(line) && !isTest && skipped === undefined) passed++
  if (not !== undefined && !isTest) failed++
  if (/^(not )?ok /.test(line) || not !== undefined || shown) console.log(line)
  if (not !== undefined) shown = true
  else if (/^\s*(\.\.\.|(not )?ok .*)$/.test(line)) shown = false
}
results.end()
const status = tap.exitCode ?? await new Promise(resolve => { tap.on('close', resolve) })
// A file that fails without a failed assertion, such as by a crash, is a failure as well.
if (status !== 0 && failed === 0) failed = 1
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = status === 0 ? 0 : 1

function list (folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => entry.isDirectory() ? list(join(folder, entry.name)) : [join(folder, entry.name)])
}
