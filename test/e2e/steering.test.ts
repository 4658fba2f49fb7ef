import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'
import { RawHttp } from '../support/mcp-http.ts'
import { execute, makeHome, request, skillet, startServer, type Answer } from '../support/program.ts'

const parameters = `
[[tools.parameters]]
name = "name"
type = "string"
description = "Who"
default = "nobody"
[[tools.parameters]]
name = "file"
type = "string"
description = "What it waits for"
required = true
`
const hold = 'command = ["sh", "-c", \'while [ ! -e "$1" ]; do sleep 0.02; done; echo "$2"\', "sh", "{{file}}", "{{name}}"]'
const manifest = `
description = "Runs that wait for a file"
concurrency = { key = "{{file}}", when_full = "refuse" }
[[tools]]
name = "hold"
description = "Wait, one for each name"
${hold}
concurrency = { key = "{{name}}" }
${parameters}
[[tools]]
name = "alone"
description = "Wait, alone"
${hold}
${parameters}
[[tools]]
name = "talk"
description = "Write, wait and write"
command = ["sh", "-c", '''echo out 1; echo err 1 >&2; while [ ! -e "$1" ]; do sleep 0.02; done; echo out 2; printf "err 2" >&2; [ "$2" = nobody ]''', "sh", "{{file}}", "{{name}}"]
${parameters}
`

const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })
for (const [name, text] of [['steer', manifest], ['broken', manifest.replaceAll('{{name}}"', '{{repo}}"')]] as const) {
  await mkdir(join(home.skills, name), { recursive: true })
  await writeFile(join(home.skills, name, 'skill.toml'), text)
}
const server = await startServer(home)
t.teardown(() => server.kill())

const path = (file: string): string => join(home.folder, file)
const letGo = (file: string): Promise<void> => writeFile(path(file), '')
const begin = (tool: string, name: string, file: string): Promise<Answer> =>
  execute(server.url, 'steer', tool, { name, file: path(file) }, { asynchronous: true })
const idOf = ({ body }: Answer): string => String(body['execution_id'])
const get = async (id: string, query = ''): Promise<Record<string, unknown>> =>
  (await request(server.url, `/api/executions/${id}${query}`)).body
const isRunning = (id: string) => async (): Promise<boolean> => (await get(id))['status'] === 'running'

t.test('runs wait for those with their key, or are refused, as the manifest says', async t => {
  const first = idOf(await begin('hold', 'a', 'go-1'))
  await until(isRunning(first))
  const waits = execute(server.url, 'steer', 'hold', { name: 'a', file: path('go-1') })
  await until(async () => (await request(server.url, '/api/executions?status=queued')).body['total'] === 1)
  const { executions: [queued] } = (await request(server.url, '/api/executions?status=queued')).body as {
    executions: { id: string }[]
  }
  t.match(await get(queued?.id ?? ''), {
    status: 'queued', concurrency: { key: 'a', limit: 1 },
    waiting_for: /1 execution of steer:hold with the concurrency key "a" runs, and 1 may at once; 0 start before/
  })
  const alone = idOf(await begin('alone', 'a', 'go-2'))
  const refused = await execute(server.url, 'steer', 'alone', { name: 'b', file: path('go-2') })
  const error = { code: 'OVERLOADED', message: /of steer with the same {{file}} runs/ }
  t.match(refused, { status: 503, body: { error } })
  t.ok(refused.headers.get('retry-after'))
  await letGo('go-1')
  t.match(await waits, { status: 200, body: { output: 'a\n' } })
  const shown = await skillet(home, ['show', idOf(await waits), '--json'])
  t.match(JSON.parse(shown.stdout), { concurrency: { key: 'a', limit: 1, waited_ms: Number } })
  await letGo('go-2')
  t.match(await get(alone, '?wait=30'), { status: 'success' })
  const { quarantined } = (await request(server.url, '/api/health')).body as { quarantined: unknown[] }
  t.match(JSON.stringify(quarantined), /concurrency\/key: placeholder {{repo}} has no parameter of that name/)
})

t.test('executions are cancelled by filters, after a look at which', async t => {
  const running = [idOf(await begin('hold', 'x', 'never')), idOf(await begin('hold', 'y', 'never'))]
  for (const id of running) await until(isRunning(id))
  const queued = [idOf(await begin('hold', 'x', 'never')), idOf(await begin('hold', 'x', 'never'))]
  const dry = await skillet(home, ['cancel', '--skill', 'steer', '--status', 'running', '--dry-run'])
  t.match(dry, { status: 0, stderr: '2 executions match. Nothing was cancelled\n' })
  t.same(running.map(id => dry.stdout.includes(id)), [true, true])
  for (const id of running) t.equal((await get(id))['status'], 'running')

  const cancel = (body: unknown): Promise<Answer> => request(server.url, '/api/executions/cancel', body)
  const error = { message: /^Say which executions are cancelled, by skill_name/ }
  t.match(await cancel({}), { status: 400, body: { error } })
  t.match(await cancel({ dry_run: true, limit: 5 }), { status: 400 })
  for (const body of [{ status: 'success' }, { status: 'queued', limit: 501 }, { created_from: 'soon' }, []]) {
    t.match(await cancel(body), { status: 400, body: { error: { code: 'INVALID_PARAMETERS' } } }, JSON.stringify(body))
  }
  t.match(await cancel({ skill_name: 'nobody' }), { status: 200, body: { matched: 0, cancelled: 0, executions: [] } })
  const { status, body } = await cancel({ tool_name: 'hold', limit: 2 })
  t.equal(status, 200)
  t.match(body, { matched: 4, cancelled: 2, executions: [{ status: 'cancelled' }, { status: 'cancelled' }] })
  const ended = (body as { executions: { id: string }[] }).executions.map(({ id }) => id)
  t.same(ended.toSorted(), queued.toSorted(), 'those that wait are first')
  const rest = await skillet(home, ['cancel', '--tool', 'hold', '--since', '1h', '--json'])
  t.match(JSON.parse(rest.stdout), { matched: 2, cancelled: 2 })
  for (const id of running) t.match(await get(id), { status: 'cancelled' })
  for (const args of [[], ['--dry-run'], [queued[0] ?? '', '--skill', 'steer'], [queued[0] ?? '', '--dry-run']]) {
    const refused = await skillet(home, ['cancel', ...args])
    t.match(refused, { status: 2, stderr: /^error: (say what|give an ID)/ }, args.join(' '))
  }
})

t.test('an execution is repeated with edited parameters over HTTP and at the terminal', async t => {
  await letGo('there')
  const original = idOf(await execute(server.url, 'steer', 'hold', { name: 'old', file: path('there') }))
  const retry = (id: string, body: unknown): Promise<Answer> => request(server.url, `/api/executions/${id}/retry`, body)
  const again = await retry(original, { parameters: { name: 'new' } })
  t.match(again, { status: 200, body: { status: 'success', output: 'new\n' } })
  t.match(await get(idOf(again)), { origin: original, parameters: { name: 'new', file: path('there') } })
  const later = await retry(original, { asynchronous: true })
  t.match(later, { status: 202, body: { status: 'queued' } })
  t.equal(later.headers.get('location'), `/api/executions/${idOf(later)}`)
  t.match(await get(idOf(later), '?wait=30'), { origin: original, output: 'old\n' })
  t.match(await retry(original, { parameters: { other: 1 } }), { status: 400, body: { error: { message: /other/ } } })
  t.match(await retry(original, { parameters: [] }), { status: 400 })
  t.match(await retry('nobody', {}), { status: 404, body: { error: { code: 'EXECUTION_NOT_FOUND' } } })

  const shown = await skillet(home, ['retry', idOf(again), 'name=third', '--json'])
  const { execution_id } = JSON.parse(shown.stdout) as { execution_id: string }
  t.match(await get(execution_id), { origin: idOf(again), transport: 'cli', output: 'third\n' })
  t.match(await skillet(home, ['retry', original, 'nam=x']), { status: 2, stderr: /nam/ })
})

t.test('one idempotency key is one run over MCP, HTTP and the command line', async t => {
  const key = 'over all doors'
  const call = { skill_name: 'steer', tool_name: 'hold', parameters: { name: 'once', file: path('there') } }
  const agent = new RawHttp(server.url)
  const ask = async (idempotency_key: unknown): Promise<string> => {
    const meta = { 'skillet/idempotency_key': idempotency_key }
    return await (await agent.modern('tools/call', { name: 'execute', arguments: call }, meta)).text()
  }
  const { executions: [before] } = (await request(server.url, '/api/executions?limit=1')).body as {
    executions: { id: string }[]
  }
  const answers = await Promise.all([ask(key), ask(key), ask(key)])
  for (const answer of answers) t.match(answer, 'once')
  const { body } = await request(server.url, '/api/execute', call, {
    method: 'POST', headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` }
  })
  const words = ['run', 'steer:hold', 'name=once', `file=${path('there')}`, '--idempotency-key', key, '--json']
  const { stdout } = await skillet(home, words)
  t.equal((JSON.parse(stdout) as { execution_id: string }).execution_id, body['execution_id'])
  const { executions: [newest, next] } = (await request(server.url, '/api/executions?limit=2')).body as {
    executions: { id: string }[]
  }
  t.equal(newest?.id, body['execution_id'])
  t.equal(next?.id, before?.id, 'five calls are one execution')
  t.match(await get(String(newest?.id)), { transport: 'mcp' })
  call.parameters.name = 'other'
  t.match(await ask(key), 'was used for another request')
  t.match(await ask('k'.repeat(10_000)), '_meta/idempotency_key must NOT have more than 255 characters')
})

t.test('what a run writes is shown while it runs, by `run` and by `logs --follow`', async t => {
  const id = idOf(await begin('talk', 'fails', 'go-3'))
  let seen = ''
  const follow = (args: readonly string[]): ReturnType<typeof skillet> => skillet(home, args, {
    running: child => {
      child.stdout?.on('data', (text: string) => { seen += text })
      child.stderr?.on('data', (text: string) => { seen += text })
    }
  })
  const hasBoth = (): boolean => seen.includes('out 1\n') && seen.includes('err 1\n')
  const logs = follow(['logs', id, '--follow'])
  await until(hasBoth)
  t.notOk(seen.includes('2'), 'while it runs')
  await letGo('go-3')
  const { status, stdout, stderr } = await logs
  t.same({ status, stdout }, { status: 0, stdout: 'out 1\nout 2\n' })
  t.match(stderr, /^queued\nrunning\nerr 1\nerr 2.*TOOL_EXECUTION_FAILED/s)
  const afterwards = await skillet(home, ['logs', id, '--json'])
  const events = afterwards.stdout.trim().split('\n').map(line => (JSON.parse(line) as { type: string }).type)
  t.same([events[0], events.at(-1)], ['transition', 'end'])

  seen = ''
  const run = follow(['run', 'steer:talk', 'name=fails', `file=${path('go-4')}`])
  await until(hasBoth)
  await letGo('go-4')
  const ended = await run
  t.match(ended, { stdout: 'out 1\nout 2\n' })
  t.not(ended.status, 0)
  t.match(ended.stderr, /^err 1\nerr 2\nerror: [^\n]*\n$/, 'standard error once, then what it means')
})
