import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { plotsOf, tableOf, type Results } from '../../bench/lib/results.ts'
import { settingsTable } from '../../plugins/cli/config-text.ts'
import { addToPath, makeHome, request, startServer } from '../support/program.ts'
import { until } from '../support/until.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
const shell = promisify(execFile)

t.test('the two commands stand at the top', async t => {
  t.match(readme, /^# Skillet\n\n```sh\nnpm start .*\nnpm test .*\n```/)
})

t.test('every example of the API works as it stands, and answers in the shape that is shown', async t => {
  const home = await makeHome()
  const server = await startServer(home)
  t.teardown(async () => {
    await server.kill()
    await home.remove()
  })
  const examples = [...readme.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```\n```json\n([\s\S]*?)```/g)]
  t.ok(examples.length >= 5)
  for (const [, command = '', answer = ''] of examples) {
    const { stdout } = await shell('bash', ['-c', command.replaceAll('http://127.0.0.1:3000', server.url)])
    const got = JSON.parse(stdout) as Record<string, unknown>
    const shown = JSON.parse(answer) as Record<string, unknown>
    t.same(shapeOf(got), shapeOf(shown), command)
    if ('error' in shown) t.match(got, { error: { code: (shown['error'] as { code: string }).code } })
    else t.notOk('error' in got, stdout)
  }
})

t.test('the first skill runs as it is told, and is in a running server without a restart', async t => {
  const home = await makeHome()
  Object.assign(home.env, { XDG_CONFIG_HOME: join(home.folder, '.config') })
  await addToPath(home)
  const server = await startServer(home)
  t.teardown(async () => {
    await server.kill()
    await home.remove()
  })
  const [made = '', called = ''] = [...readme.matchAll(/<!-- first -->\n```sh\n([\s\S]*?)```/g)].map(([, command = '']) => command.replaceAll('npx skillet', 'skillet').replaceAll('http://127.0.0.1:3000', server.url))
  const run = async (command: string): Promise<string> => (await shell('bash', ['-c', command], { env: home.env, cwd: home.folder })).stdout
  t.equal(await run(made), 'Hello, world!\nHello, world!\n')
  await until(async () => (await request(server.url, '/api/skills/greet')).status === 200)
  t.match(JSON.parse(await run(called)), { status: 'success', output: 'Hello, world!' })

  const folder = join(home.folder, '.config', 'skillet', 'skills', 'lines')
  await mkdir(folder)
  await writeFile(join(folder, 'skill.toml'), /<!-- command -->\n```toml\n([\s\S]*?)```/.exec(readme)?.[1] ?? '')
  t.match(await run(`skillet run lines:lines path=${join(folder, 'skill.toml')}`), /^1\d /)
})

t.test('the table of settings is what the schema says', async t => {
  const table = /<!-- settings -->\n([\s\S]*?)<!-- \/settings -->/.exec(readme)?.[1] ?? ''
  t.equal(table, settingsTable(), 'run `node scripts/readme.mjs` to renew it')
})

t.test('the table and the plots of the benchmarks show their results', async t => {
  const folder = new URL('../../../bench/results/', import.meta.url)
  const results = JSON.parse(readFileSync(new URL('results.json', folder), 'utf8')) as Results
  const table = /<!-- bench -->\n([\s\S]*?)<!-- \/bench -->/.exec(readme)?.[1]
  t.equal(table, tableOf(results, { goals: true }), 'run `node scripts/readme.mjs` to renew it')
  const plots = plotsOf(results)
  for (const [name, svg] of plots) t.equal(readFileSync(new URL(name, folder), 'utf8'), svg, name)
  for (const [, name = ''] of readme.matchAll(/\(bench\/results\/([^)]+\.svg)\)/g)) t.ok(plots.has(name), `the README shows ${name}`)
  for (const { rows } of Object.values(results)) for (const { met, goal, median } of rows) if (goal !== undefined) t.equal(met, 'at_least' in goal ? median >= goal.at_least : median <= goal.at_most)
})

/** The fields at the top and their types. */
function shapeOf (value: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, Array.isArray(inner) ? 'array' : typeof inner]))
}
