// `npm test`: completes the setup, then runs all tests, or those whose path contains an argument. Prints a line for
// each file and all failures, writes the whole output to dist/test-results.tap, and ends with a line `N passed, N
// failed`, which counts tests, not assertions.
import { spawnSync } from 'node:child_process'
import { createWriteStream, readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setUp } from './setup.mjs'
import { runFiles } from './test-files.mjs'
import { TapCounter } from './tap-counter.mjs'

setUp({ tests: true })
const wanted = process.argv.slice(2)
const files = list('dist/test')
  .filter(path => path.endsWith('.test.js') && (wanted.length === 0 || wanted.some(part => path.includes(part))))
if (files.length === 0) {
  console.error(`No test file's path contains ${wanted.join(' or ')}.`)
  process.exit(1)
}

const env = { SKILLET_TEST_CACHE: describeBundledSkills() }
// Many tests wait for processes and timers: one more at a time than there are cores.
const results = createWriteStream('dist/test-results.tap')
const counter = new TapCounter()
let shown = false // the description of a failure, up to its closing `...`
for await (const line of runFiles(files, availableParallelism() + 1, env)) {
  results.write(`${line}\n`)
  const { failed } = counter.read(line)
  if (/^(not )?ok /.test(line) || failed || shown) console.log(line)
  if (failed) shown = true
  else if (/^\s*(\.\.\.|(not )?ok .*)$/.test(line)) shown = false
}
results.end()
console.log(`${counter.passed} passed, ${counter.failed} failed`)
process.exitCode = counter.failed === 0 ? 0 : 1

/**
 * Describes the bundled skills once: hundreds of tests start the program in a home of its own, where a second of the
 * processor would go into this each time. @returns the data directory with the descriptions
 */
function describeBundledSkills () {
  const home = join(import.meta.dirname, '../dist/test-home')
  rmSync(home, { recursive: true, force: true })
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: home }
  const { status, stderr } = spawnSync(process.execPath, ['dist/program/main.js', 'list'], { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`skillet list failed: ${stderr}`)
  return join(home, 'skillet')
}

function list (folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap(entry => entry.isDirectory() ? list(join(folder, entry.name)) : [join(folder, entry.name)])
}
