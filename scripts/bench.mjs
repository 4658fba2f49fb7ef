// `npm run bench [-- NAME ARGUMENTS…]`: sets up what is missing, then runs every benchmark, or those whose name contains NAME.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setUp } from './setup.mjs'

setUp()
const [name = '', ...args] = process.argv.slice(2)
const files = readdirSync('dist/bench').filter(file => file.endsWith('.bench.js') && file.includes(name))
if (files.length === 0) {
  console.error(`No benchmark's name contains ${name}.`)
  process.exit(1)
}
for (const file of files) {
  console.log(`== ${file.replace('.bench.js', '')}`)
  const { status } = spawnSync(process.execPath, [`dist/bench/${file}`, ...args], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
