// Renews the tables of settings in the README and in docs/configuration.md from the schema, after a build. A test checks that it was.
import { readFileSync, writeFileSync } from 'node:fs'
import { settingsTable } from '../dist/plugins/cli/config-text.js'

const table = settingsTable()
for (const file of ['README.md', 'docs/configuration.md']) {
  const path = new URL(`../${file}`, import.meta.url)
  writeFileSync(path, readFileSync(path, 'utf8').replace(/(<!-- settings -->\n)[\s\S]*?(<!-- \/settings -->)/, (_, begin, end) => begin + table + end))
}
