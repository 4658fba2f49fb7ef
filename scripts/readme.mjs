// Renews the README's table of settings from the schema, after a build. A test checks that it was.
import { readFileSync, writeFileSync } from 'node:fs'
import { settings } from '../dist/kernel/config-load.js'

const path = new URL('../README.md', import.meta.url)
const rows = settings.map(({ path, schema }) => `| \`${path.join('.')}\` | \`${JSON.stringify(schema.default)}\` | ${schema.description} |`)
const table = ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
writeFileSync(path, readFileSync(path, 'utf8').replace(/(<!-- settings -->\n)[\s\S]*?(<!-- \/settings -->)/, (_, begin, end) => begin + table + end))
