// `npm test`: completes the setup, then runs all tests, or those whose path contains an argument. Prints a line for
// each file and all failures, writes the whole output to dist/test-results.tap, and ends with a line `N passed, N
// failed`, which counts tests, not assertions.
import { spawn } from 'node:child_process'
import { createWriteStream, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setUp } from './setup.mjs'
import { TapCounter } from './tap-counter.mjs'

setUp({ tests: true })
const wanted = process.argv.slice(2)
const files = list('dist/test')
  .filter(path => path.endsWith('.test.js') && (wanted.length === 0 || wanted.some(part => path.includes(part))))
if (files.length === 0) {
  console.error(`No test file's path contains ${wanted.join(' or ')}.`)
  process.exit(1)
}

// By default the runner leaves one core unused; more jobs are faster, since many tests wait for processes and timers.
const results = createWriteStream('dist/test-results.tap')
const tap = spawn(
  process.execPath,
  ['node_modules/tap/dist/esm/run.mjs', '--reporter=tap', `--jobs=${availableParallelism()}`, ...files],
  { stdio: ['ignore', 'pipe', 'inherit'] }
)
const counter = new TapCounter()
let shown = false // the description of a failure, up to its closing `...`
for await (const line of createInterface({ input: tap.stdout })) {
  results.write(`${line}\n`)
  const { failed } = counter.read(line)
  if (/^(not )?ok /.test(line) || failed || shown) console.log(line)
  if (failed) shown = true
  else if (/^\s*(\.\.\.|(not )?ok .*)$/.test(line)) shown = false
}
results.end()
const status = tap.exitCode ?? await new Promise(resolve => { tap.on('close', resolve) })
// A run may fail without a failed test, for example when the runner crashes. It counts as a failure too.
const failed = status !== 0 && counter.failed === 0 ? 1 : counter.failed
console.log(`${counter.passed} passed, ${failed} failed`)
process.exitCode = status === 0 ? 0 : 1

function list (folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap(entry => entry.isDirectory() ? list(join(folder, entry.name)) : [join(folder, entry.name)])
}
