import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { plotsOf, summaryOf, tableOf, type Results } from '../../bench/lib/results.ts'
import { addToPath, makeHome, request, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

/** The checkout. */
const root = new URL('../../../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')
const shell = promisify(execFile)

t.test('the two commands stand at the top', async t => {
  t.match(readme, /^# Skillet\n\n```sh\nnpm start .*\nnpm test .*\n```/)
})

t.test('the command that makes `skillet` a command does, from this folder, and connects clients by paths that hold anywhere', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const [, install = ''] = /<!-- install -->\n```sh\n([\s\S]*?)```/.exec(readme) ?? []
  const before = readFileSync(new URL('package-lock.json', root), 'utf8')
  const env: NodeJS.ProcessEnv = { ...home.env, npm_config_prefix: join(home.folder, 'global') }
  await shell('bash', ['-c', install], { env, cwd: fileURLToPath(root) })
  t.equal(readFileSync(new URL('package-lock.json', root), 'utf8'), before, 'nothing else changes')
  const elsewhere = { env: { ...env, PATH: `${join(home.folder, 'global', 'bin')}:${env['PATH']}` }, cwd: home.folder }
  t.equal(
    (await shell('bash', ['-c', 'skillet --version'], elsewhere)).stdout,
    `${(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }).version}\n`
  )
  const { stdout } = await shell('bash', ['-c', 'skillet connect cursor --print --json'], elsewhere)
  const { mcpServers: { skillet: { command, args } } } = JSON.parse(stdout) as {
    mcpServers: { skillet: { command: string, args: string[] } }
  }
  const { stdout: version } =
    await shell(command, [args[0] ?? '', '--version'], { env: { PATH: '/nowhere' }, cwd: '/' })
  t.match(version, /^\d+\.\d+\.\d+\n$/)
})

t.test('nobody is told to call it by npx, which asks the registry for a package of that name wherever there is none', async t => {
  const below = (folder: string): string[] =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map(file => join(folder, file))
  const files = [...readdirSync(root), ...['kernel', 'plugins', 'skills', 'docs', 'scripts', 'bench'].flatMap(below)]
    .filter(file => !file.includes('node_modules') && /\.(md|ts|mjs|cjs|js|json|toml)$/.test(file))
  t.ok(files.length > 200)
  const named = files.filter(file => /\bnpx( -\S+)* skillet\b/.test(readFileSync(new URL(file, root), 'utf8')))
  t.same(named, [])
})

t.test('every example of the API works as it stands, and answers in the shape that is shown', async t => {
  const home = await makeHome()
  const server = await startServer(home)
  t.teardown(async () => {
    await server.kill()
    await home.remove()
  })
  const pages = [readme, ...['docs/api.md', 'docs/errors.md'].map(page => readFileSync(new URL(page, root), 'utf8'))]
  const examples = pages.flatMap(page =>
    [...page.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)```\n```json\n([\s\S]*?)```/g)])
  t.ok(examples.length >= 8)
  t.equal(pages.join('\n').match(/^<!-- run -->$/gm)?.length, examples.length, 'no example is left out')
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
  const [made = '', called = ''] = [...readme.matchAll(/<!-- first -->\n```sh\n([\s\S]*?)```/g)]
    .map(([, command = '']) => command.replaceAll('http://127.0.0.1:3000', server.url))
  const run = async (command: string): Promise<string> =>
    (await shell('bash', ['-c', command], { env: home.env, cwd: home.folder })).stdout
  t.equal(await run(made), 'Hello, world!\nHello, world!\n')
  await until(async () => (await request(server.url, '/api/skills/greet')).status === 200)
  t.match(JSON.parse(await run(called)), { status: 'success', output: 'Hello, world!' })
})

t.test('the tables and the plots of the benchmarks, and what the README says of them, show their results', async t => {
  const folder = new URL('../../../bench/results/', import.meta.url)
  const results = JSON.parse(readFileSync(new URL('results.json', folder), 'utf8')) as Results
  const page = readFileSync(new URL('docs/benchmarks.md', root), 'utf8')
  const table = /<!-- bench -->\n([\s\S]*?)<!-- \/bench -->/.exec(page)?.[1]
  t.equal(table, tableOf(results, { goals: true }), 'run `node scripts/readme.mjs` to renew it')
  const summary = /<!-- measured -->\n([\s\S]*?)<!-- \/measured -->/.exec(readme)?.[1]
  t.equal(summary, summaryOf(results), 'run `node scripts/readme.mjs` to renew it')
  const plots = plotsOf(results)
  for (const [name, svg] of plots) t.equal(readFileSync(new URL(name, folder), 'utf8'), svg, name)
  const shown = [...`${readme}${page}`.matchAll(/\((?:\.\.\/)?bench\/results\/([^)]+\.svg)\)/g)]
  t.equal(shown.length, 3)
  for (const [, name = ''] of shown) t.ok(plots.has(name), `a page shows ${name}`)
  for (const { rows } of Object.values(results)) {
    for (const { met, goal, median } of rows) {
      if (goal !== undefined) t.equal(met, 'at_least' in goal ? median >= goal.at_least : median <= goal.at_most)
    }
  }
})

/** The fields at the top and their types. */
function shapeOf (value: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, Array.isArray(inner) ? 'array' : typeof inner])
  )
}
