// Renews the reference in docs/command-line.md from the commands' definitions, after a build. A test checks that it
// was.
import { readFileSync, writeFileSync } from 'node:fs'
import { reference } from '../dist/plugins/cli/reference.js'

const path = new URL('../docs/command-line.md', import.meta.url)
const text = await reference()
writeFileSync(path, readFileSync(path, 'utf8')
  .replace(/(<!-- commands -->\n)[\s\S]*?(<!-- \/commands -->)/, (_, begin, end) => begin + text + end))
