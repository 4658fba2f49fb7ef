// Renews what the README and docs/configuration.md say from elsewhere, after a build: the table of settings from the schema,
// and that of the benchmarks from their results. Tests check that it was.
import { readFileSync, writeFileSync } from 'node:fs'
import { tableOf } from '../dist/bench/lib/results.js'
import { settingsTable } from '../dist/plugins/cli/config-text.js'

const results = JSON.parse(readFileSync(new URL('../bench/results/results.json', import.meta.url), 'utf8'))
const parts = { settings: settingsTable(), bench: tableOf(results, { goals: true }) }
for (const file of ['README.md', 'docs/configuration.md']) {
  const path = new URL(`../${file}`, import.meta.url)
  let text = readFileSync(path, 'utf8')
  for (const [name, part] of Object.entries(parts)) text = text.replace(new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`), (_, begin, end) => begin + part + end)
  writeFileSync(path, text)
}
