import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'smol-toml'
import t from 'tap'
import { loadConfig } from '../../kernel/index.ts'
import { settingsTable } from '../../plugins/cli/files/config-text.ts'
import { builtinSchema } from '../support/config.ts'
import { addToPath, makeHome } from '../support/program.ts'

const run = promisify(execFile)
const read = (name: string): string => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
const home = await makeHome()
await addToPath(home)
t.teardown(home.remove)

for (const [name, least] of [['authoring', 5], ['secrets', 1]] as const) {
  t.test(`${name}: every file and command works, one after the other, and prints what is shown`, async t => {
    const page = read(`docs/${name}.md`)
    const blocks = [...page.matchAll(/<!-- (run|file (\S+)) -->\n```\w+\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)```)?/g)]
    // What somebody has to fill in can't be run.
    const withPlaces = [...page.matchAll(/^```sh\n.*\bSKILL NAME\b/gm)].length
    t.equal([...page.matchAll(/^```(sh|ts|js|toml)$/gm)].length - withPlaces, blocks.length, 'no example is left out')
    const real = (text: string): string => text.replaceAll('~/.config', join(home.folder, 'config'))
    let files = 0
    for (const [, , path, text = '', shown] of blocks) {
      if (path === undefined) {
        const { stdout } = await run('bash', ['-c', `set -e\n${real(text)}`], { env: home.env, cwd: home.folder })
        t.equal(stdout.replaceAll(/^ +/gm, ''), shown, text)
      } else {
        files++
        mkdirSync(dirname(real(path)), { recursive: true })
        writeFileSync(real(path), text)
      }
    }
    t.ok(files >= least)
  })
}

t.test('configuration: the table is what the schema says, the examples are taken', async t => {
  const page = read('docs/configuration.md')
  t.equal(
    /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(page)?.[1],
    settingsTable(builtinSchema),
    'run `node scripts/readme.mjs` to renew it'
  )
  const [, toml = ''] = /<!-- toml -->\n```toml\n([\s\S]*?)```/.exec(page) ?? []
  const [, env = ''] = /<!-- env -->\n```sh\n([\s\S]*?)```/.exec(page) ?? []
  const [, commands = ''] = /```sh\n([\s\S]*?)```/.exec(page) ?? []
  const cwd = join(home.folder, 'configured')
  mkdirSync(join(cwd, 'skills'), { recursive: true })
  writeFileSync(join(cwd, 'skillet.toml'), toml)
  writeFileSync(join(cwd, '.env'), env, { mode: 0o600 })
  t.ok('skills' in parse(toml))
  t.match(loadConfig({ flags: {}, env: {}, cwd }, builtinSchema), {
    server: { port: 8080 },
    execution: { timeout_ms: 60_000 },
    skills: { directories: [join(cwd, 'skills')], config: { files: { roots: ['~/projects'] } } }
  })
  const { stdout } = await run('bash', ['-c', `set -e\n${commands}`], { env: home.env, cwd })
  t.match(stdout, /skillet\.toml\n[^]*server\.port +8080 +.*\.env\n[^]*is in order/)
})
