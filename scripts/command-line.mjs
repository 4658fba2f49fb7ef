// Writes the reference in docs/command-line.md from the definitions of the commands, after a build. A test checks that
// the reference is up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { configSchema } from '../dist/kernel/index.js'
import { reference } from '../dist/plugins/cli/reference.js'
import { builtinSections } from '../dist/plugins/settings.js'

const path = new URL('../docs/command-line.md', import.meta.url)
const text = await reference(configSchema(builtinSections))
writeFileSync(path, readFileSync(path, 'utf8')
  .replace(/(<!-- commands -->\n)[\s\S]*?(<!-- \/commands -->)/, (_, begin, end) => begin + text + end))
