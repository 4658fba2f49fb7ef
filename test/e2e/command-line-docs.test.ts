import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { reference } from '../../plugins/cli/reference.ts'
import { builtinSchema } from '../support/config.ts'
import { addToPath, makeHome } from '../support/program.ts'

const run = promisify(execFile)
const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8')

t.test('the reference is what the commands say', async t => {
  const written = /<!-- commands -->\n([\s\S]*?)<!-- \/commands -->/.exec(page)?.[1]
  t.equal(written, await reference(builtinSchema), 'run `node scripts/command-line.mjs` to renew it')
})

t.test('every example works, one after the other', async t => {
  const home = await makeHome()
  await addToPath(home)
  t.teardown(home.remove)
  const examples = [...page.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  t.ok(examples.length >= 5)
  const script = `set -ex\n${examples.join('').replaceAll('~/.config', '"$XDG_CONFIG_HOME"').replace('skillet doctor', 'skillet doctor --port 0')}`
  const { stdout } = await run('bash', ['-c', script], { env: home.env, cwd: home.folder, maxBuffer: 2 ** 24 })
  t.match(stdout, /text:count[^]*"words":2[^]*Nothing is wrong[^]*Hello, world!/)
})
