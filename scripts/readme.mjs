// Renews what the README says from elsewhere, after a build: its table of settings from the schema, and that of the
// benchmarks from their results. Tests check that it was.
import { readFileSync, writeFileSync } from 'node:fs'
import { tableOf } from '../dist/bench/lib/results.js'
import { settings } from '../dist/kernel/config-load.js'

const path = new URL('../README.md', import.meta.url)
const rows = settings.map(({ path, schema }) => `| \`${path.join('.')}\` | \`${JSON.stringify(schema.default)}\` | ${schema.description} |`)
const table = ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
const results = JSON.parse(readFileSync(new URL('../bench/results/results.json', import.meta.url), 'utf8'))

const parts = { settings: table, bench: tableOf(results, { goals: true }) }
let text = readFileSync(path, 'utf8')
for (const [name, part] of Object.entries(parts)) text = text.replace(new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`), (_, begin, end) => begin + part + end)
writeFileSync(path, text)
