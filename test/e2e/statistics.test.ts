import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Execution } from '../../kernel/index.ts'
import { execute, makeHome, request, skillet, startServer } from '../support/program.ts'

interface Numbers { total: { count: number, failures: number }, tools: { tool_name: string, count: number }[] }

t.test('what was run is counted, exported and imported', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const server = await startServer(home, ['--log-level', 'error'])
  t.teardown(server.kill)
  for (const value of [{ '=1+1': 1, 'a "quote",': 2 }, 1, 2]) {
    const text = JSON.stringify(value)
    t.equal((await execute(server.url, 'data', 'convert', { text, from: 'json', to: 'yaml' })).status, 200)
  }
  t.equal((await execute(server.url, 'data', 'query', { text: '{', expression: '@' })).status, 422)

  const stats = await request(server.url, '/api/stats')
  t.match(stats.body, { total: { count: 4, failures: 1, statuses: { success: 3, failed: 1 } }, tools_total: 2 })
  t.match((await request(server.url, '/api/stats?tool_name=query')).body, { total: { count: 1, failures: 1 } })
  const later = await request(server.url, '/api/stats?created_from=2040-01-01T00:00:00Z')
  t.match(later.body, { total: { count: 0, runs: [] }, tools: [] })
  t.match((await request(server.url, '/api/stats?intervals=201')).status, 400)
  t.match(await skillet(home, ['stats']), { status: 0, stdout: /data:convert +3 +0 .*\ndata:query +1 +1 \(100 %\)/ })
  const numbers = JSON.parse((await skillet(home, ['stats', '--json'])).stdout) as Numbers
  t.match(numbers.tools.map(({ tool_name, count }) => [tool_name, count]), [['convert', 3], ['query', 1]])

  const file = join(home.folder, 'runs.jsonl')
  t.match(await skillet(home, ['history', 'export', 'runs.jsonl']), { stdout: /runs\.jsonl has 4 executions/ })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.match(await skillet(home, ['history', 'export', 'runs.jsonl']), { status: 2, stderr: /is there already/ })
  const records = (await readFile(file, 'utf8')).trimEnd().split('\n').map(line => JSON.parse(line) as Execution)
  for (const record of records) t.match((await request(server.url, `/api/executions/${record.id}`)).body, record)
  const { stdout: csv } = await skillet(home, ['history', 'export', '--format', 'csv', '--status', 'success'])
  t.match(csv, ',"\'=1+1: 1\na ""quote"",: 2\n",false', 'a spreadsheet takes it for no formula')

  const other = await makeHome()
  t.teardown(other.remove)
  t.match(await skillet(other, ['history', 'import', file]), { status: 0, stdout: '4 executions imported.\n' })
  t.match(await skillet(other, ['history', 'import', file]), { status: 0, stdout: /^0 .* 4 were there already/ })
  t.equal((await skillet(other, ['history', 'export'])).stdout, await readFile(file, 'utf8'), 'the same, in order')
  t.equal((JSON.parse((await skillet(other, ['stats', '--json'])).stdout) as Numbers).total.count, 4)
})

t.test('an import refuses what is no record, by its line, and keeps what was before it', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const good = { ...JSON.parse(await exported()) as Execution }
  for (const [bad, message] of [
    ['{"id": "x"}', /line 2: execution must have the field/],
    ['not JSON', /line 2: .*JSON/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /line 2: the line is not UTF-8/],
    [JSON.stringify({ ...good, id: 'other', status: 'running' }), /line 2: the execution has not ended/],
    [JSON.stringify({ ...good, id: 'ü' }), /line 2: its id is not/],
    [JSON.stringify({ ...good, id: 'y', output: 7 }), /line 2: execution\/output must be string/]
  ] as const) {
    const file = join(home.folder, 'bad.jsonl')
    await writeFile(file, Buffer.concat([`${JSON.stringify(good)}\n`, bad, '\n'].map(part => Buffer.from(part))))
    t.match(await skillet(home, ['history', 'import', file]), { status: 2, stderr: message })
  }
  t.match(await skillet(home, ['history', 'import', 'nothing.jsonl']), { status: 2, stderr: /ENOENT/ })
  t.equal((JSON.parse((await skillet(home, ['stats', '--json'])).stdout) as Numbers).total.count, 1)
})

/** A line of an export. */
async function exported (): Promise<string> {
  const home = await makeHome()
  try {
    await skillet(home, ['run', 'text:count', 'text=a'])
    return (await skillet(home, ['history', 'export'])).stdout
  } finally {
    await home.remove()
  }
}
