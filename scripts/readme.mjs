// Writes the generated parts of the documentation, after a build: the table of settings from the schema, and the
// results of the benchmarks. Tests check that these parts are up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { summaryOf, tableOf } from '../dist/bench/lib/results.js'
import { configSchema } from '../dist/kernel/index.js'
import { settingsTable } from '../dist/plugins/cli/files/config-text.js'
import { builtinSections } from '../dist/plugins/settings.js'

const results = JSON.parse(readFileSync(new URL('../bench/results/results.json', import.meta.url), 'utf8'))
const parts = {
  'README.md': { measured: summaryOf(results) },
  'docs/configuration.md': { settings: settingsTable(configSchema(builtinSections)) },
  'docs/benchmarks.md': { bench: tableOf(results, { goals: true }) }
}
for (const [file, derived] of Object.entries(parts)) {
  const path = new URL(`../${file}`, import.meta.url)
  let text = readFileSync(path, 'utf8')
  for (const [name, part] of Object.entries(derived)) {
    text = text.replace(new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`), (_, begin, end) =>
      begin + part + end)
  }
  writeFileSync(path, text)
}
