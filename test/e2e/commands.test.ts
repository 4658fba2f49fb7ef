import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startCommands } from '../support/e2e-commands.ts'
import { execute, request, skillet } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const run = promisify(execFile)
const { home, server, json } = await startCommands()
t.teardown(async () => {
  await server.kill()
  await home.remove()
})

t.test('info and search tell what list tells, of one skill, of one tool, and of what fits', async t => {
  const { skills } = await json('list') as { skills: { name: string, tools: { name: string }[] }[] }
  const drip = skills.find(({ name }) => name === 'drip')
  t.same(await json('info', 'drip'), drip)
  t.same(await json('info', 'drip:two'), { skill_name: 'drip', ...drip?.tools[0] })
  t.match(
    (await skillet(home, ['info', 'drip'])).stdout,
    /^drip — Put out.*\n.*3 tools\n[^]*drip:two file=…\n[^]*colour\? +"red" \| "green" +Of the drop/
  )
  t.match(await skillet(home, ['info', 'drip:tow']), { status: 3, stdout: '', stderr: /did you mean "two"/ })
  const found = await json('find', '--top-k', '1', 'second', 'drop')
  t.match(found, { results: [{ skill_name: 'drip', tool_name: 'two' }] })
  t.match(await skillet(home, ['search', 'drop', '--top-k', '101']), { status: 2, stderr: /top_k must be <= 100/ })
})

t.test('a value of - is standard input, as it is, and only once', async t => {
  t.match(await skillet(home, ['run', 'temper:echo', 'text=-'], { input: 'ünï\n\n' }), { status: 0, stdout: 'ünï\n\n' })
  t.match(await skillet(home, ['run', 'command:sleep', 'seconds=-'], { input: '0\n' }), { status: 0 })
  t.match(await skillet(home, ['run', 'temper:touch', 'file=-', 'line=-'], { input: 'x' }), {
    status: 2,
    stderr: /only one value/
  })
  t.match(
    await skillet(home, ['run', 'temper', '--json']),
    { status: 2, stdout: '', stderr: /"code":"INVALID_PARAMETERS".*temper.*echo, touch/ }
  )
})

t.test('output is printed while the tool runs, and is what the history keeps, of a failure too', async t => {
  const file = join(home.folder, 'second')
  let early = ''
  const ended = skillet(home, ['run', 'drip:two', `file=${file}`], {
    running: child => { child.stdout?.on('data', (text: string) => { early += text }) }
  })
  await until(() => early !== '')
  t.equal(early, 'one\n')
  await writeFile(file, '')
  t.match(await ended, { status: 0, stdout: 'one\ntwo\n', stderr: '' })
  t.equal((await skillet(home, ['show', '--output'])).stdout, 'one\ntwo')
  t.match(await skillet(home, ['run', 'drip:fail']), { status: 1, stdout: 'drop\n', stderr: /why/ })
  t.match(await json('run', 'drip:two', `file=${file}`), { output: 'one\ntwo', status: 'success' })
})


t.test('a reader that goes away cancels the run', async t => {
  const { stdout } = await run('bash', ['-c', 'skillet run drip:forever | head -n 1; echo "${PIPESTATUS[0]}"'], {
    env: home.env,
    cwd: home.folder
  })
  t.equal(stdout, 'drop\n141\n')
  t.match(await json('show'), { tool_name: 'forever', status: 'cancelled' })
})

t.test('history, show and cancel reach the runs of a server', async t => {
  const hanging = execute(server.url, 'temper', 'wait')
  await until(async () => (await request(server.url, '/api/executions?status=running')).body['total'] === 1)
  const { executions: [found] } = await json('history', '--status', 'running', '--tool', 'wait', '--since', '1h') as {
    executions: { id: string }[]
  }
  const id = found?.id ?? ''
  t.match(await json('show', id), { id, status: 'running', transport: 'http' })

  let followed = ''
  let interrupt = (): void => {}
  const following = skillet(home, ['history', '--follow', '--limit', '1', '--json'], {
    running: child => {
      child.stdout?.on('data', (text: string) => { followed += text })
      interrupt = () => { child.kill('SIGINT') }
    }
  })
  await until(() => followed.includes('\n'))
  t.match(await skillet(home, ['cancel', id]), { status: 0, stdout: 'temper:wait was cancelled\n' })
  t.match(await hanging, { status: 409, body: { error: { code: 'CANCELLED' } } })
  await until(() => followed.includes(`"${id}","skill_name":"temper","tool_name":"wait","status":"cancelled"`))
  interrupt()
  t.match(await following, { status: 130 })
  t.match(await skillet(home, ['cancel', id]), { status: 5, stderr: /already ended/ })
  t.match(await skillet(home, ['cancel', 'nobody']), { status: 3 })
  t.match(await skillet(home, ['show', id]), {
    status: 0,
    stdout: /temper:wait .*\nstatus +cancelled\nerror +CANCELLED/
  })
  t.match(await skillet(home, ['history', '--since', 'soon']), { status: 2, stderr: /created_from/ })
})
