// `npm test`: sets up what is missing, then runs every test, or those whose path contains an argument. Ends with a
// line `N passed, N failed` of all assertions.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setUp } from './setup.mjs'

setUp({ tests: true })
const wanted = process.argv.slice(2)
const files = list('dist/test').filter(path => path.endsWith('.test.js') && (wanted.length === 0 || wanted.some(part => path.includes(part))))
if (files.length === 0) {
  console.error(`No test file's path contains ${wanted.join(' or ')}.`)
  process.exit(1)
}
const results = 'dist/test-results.tap'
const { status } = spawnSync(process.execPath, [
  'node_modules/tap/dist/esm/run.mjs', `--reporter=${process.stdout.isTTY ? 'base' : 'terse'}`, `--output-file=${results}`, ...files
], { stdio: 'inherit' })

const counts = readFileSync(results, 'utf8').match(/^# \{ total:.*\}$/gm)?.at(-1) ?? ''
const count = name => Number(new RegExp(`\\b${name}: (\\d+)`).exec(counts)?.[1] ?? 0)
// A run that failed without a failed assertion, such as by a crash, counts as one failure.
const failed = count('fail') || (status === 0 ? 0 : 1)
console.log(`${count('pass')} passed, ${failed} failed`)
process.exitCode = status === 0 && failed === 0 ? 0 : 1

function list (folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => entry.isDirectory() ? list(join(folder, entry.name)) : [join(folder, entry.name)])
}
