import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import plugin from '../../plugins/executor-mcp/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'
import { testExecutor } from '../conformance/executor.ts'
import { callOf, folder, openMcp, removeFolder, runMcp, serverSkill } from '../support/mcp-servers.ts'
import { gone, numbersIn, runs } from '../support/processes.ts'

t.teardown(removeFolder)
t.setTimeout(300_000)

const shared = serverSkill()

testExecutor('executor-mcp', {
  async open (config) {
    // Servers in the sandbox have tests of their own.
    const { service: executor, close } = await openPlugin(plugin, { config: { isolation: { mode: 'off' }, ...config } })
    return { executor, close }
  },
  isolation: 'process',
  calls: {
    echo: text => callOf(shared, 'echo', { text }),
    fail: message => callOf(shared, 'fail', { text: message }),
    sleep: ms => callOf(shared, 'sleep', { ms }),
    hang: () => callOf(shared, 'hang'),
    output: bytes => callOf(shared, 'output', { bytes }),
    append: (file, text) => callOf(shared, 'append', { file, text })
  },
  concurrency: { config: { plugin: { 'executor-mcp': { calls: 3 } } }, limit: 3, hang: callOf(shared, 'hang') }
})

t.test('what a tool answers becomes one text: texts, structured content, images as base64', async t => {
  const { executor } = await openMcp(t)
  const skill = serverSkill()
  t.match(await runMcp(executor, callOf(skill, 'structured')), { status: 'success', output: '{"a":  1}' })
  const image = await runMcp(executor, callOf(skill, 'image'))
  t.same(JSON.parse(image.output), {
    content: [{ type: 'text', text: 'a dot' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }]
  })
  t.match(await runMcp(executor, callOf(skill, 'strange')), {
    status: 'failed', error: { message: /answered .*strange with something that is not of MCP/ }
  })
  t.match(
    await runMcp(executor, callOf(skill, 'nothing')), { status: 'failed', error: { message: /unknown tool nothing/ } }
  )
  t.match(
    await runMcp(executor, callOf(skill, 'ask')), {
      status: 'success', output: /-32601|-32600/
    }, 'a server that asks is told that it can\'t'
  )
})

t.test('progress and log messages come through, and a cancelled call is cancelled at the server', async t => {
  const { executor } = await openMcp(t)
  const skill = serverSkill()
  const { heard } = await runMcp(executor, callOf(skill, 'progress'))
  t.same(heard.progress, [[1, 2, 'half']])
  t.same(heard.logs, [['warn', 'half of it']])
  const abort = new AbortController()
  const run = runMcp(executor, callOf(skill, 'hang'), { signal: abort.signal })
  setTimeout(() => { abort.abort() }, 100)
  t.match(await run, { status: 'cancelled' })
  t.match(await runMcp(executor, callOf(skill, 'hang'), { timeout_ms: 50 }), { status: 'timeout' })
  await until(async () => (await runMcp(executor, callOf(skill, 'cancelled'))).output === '2')
})

t.test('one process serves all calls; a server that dies fails its calls, is not asked again, and starts anew', async t => {
  const { executor } = await openMcp(t)
  const starts = join(folder, 'starts')
  const skill = serverSkill({ STARTS: starts })
  const pids = await Promise.all(
    Array.from({ length: 20 }, async () => (await runMcp(executor, callOf(skill, 'pid'))).output)
  )
  t.equal(new Set(pids).size, 1, 'calls at once share it')
  const hang = runMcp(executor, callOf(skill, 'hang'))
  t.match(await runMcp(executor, callOf(skill, 'die')), {
    status: 'failed',
    error: { message: /ended during .*:die: it exited with code 3: Error: out of luck; whether the tool did its work is unknown, and it was not called again/ }
  })
  t.match(await hang, { status: 'failed', error: { message: /ended during/ } })
  t.match(await runMcp(executor, callOf(skill, 'echo', { text: 'again' })), { status: 'success', output: 'again' })
  t.equal((await numbersIn(starts, 2)).length, 2)
  const [, second = 0] = await numbersIn(starts, 2)
  process.kill(second, 'SIGKILL')
  await gone([second])
  await until(async () => (await runMcp(executor, callOf(skill, 'echo', { text: 'x' }))).status === 'success')
})

t.test('a server that can\'t be used fails its calls with the reason, and the next start waits longer', async t => {
  const { executor } = await openMcp(t)
  const cases = {
    exit: /its command exited with code 2: Usage: server DIRECTORY/,
    silent: /did not answer within 1.5 s, as start_ms in \[mcp\] says/,
    garbage: /did not answer within 1.5 s.*not of MCP: Server listening on port 3000/,
    flood: /sent more than 20000 messages.* without being asked/,
    'long-line': /sent a message of more than 33554432 bytes/
  }
  await Promise.all(Object.entries(cases).map(async ([MODE, message]) => {
    const skill = serverSkill({ MODE }, { start_ms: MODE === 'flood' || MODE === 'long-line' ? 30_000 : 1_500 })
    const { heard, ...outcome } = await runMcp(executor, callOf(skill, 'echo', { text: '' }))
    t.match(outcome, { status: 'failed', error: { message } }, MODE)
    t.same(heard.isolations, [], 'no call was sent')
  }))
  const missing = serverSkill({}, { command: ['npx-that-is-not-there'] })
  t.match(
    await runMcp(executor, callOf(missing, 'echo')), {
      status: 'failed', error: { message: /the program npx-that-is-not-there was not found/ }
    }
  )
  const last: string[] = []
  await until(async () => {
    const outcome = await runMcp(executor, callOf(missing, 'echo'))
    if (outcome.status === 'failed') last.push(outcome.error.message)
    return /times in a row, and it is started again in \d+ s at the earliest/.test(last.at(-1) ?? '')
  })
  t.match(
    await runMcp(executor, callOf(shared, 'echo', { text: 'well' })), { status: 'success' }, 'others are not affected'
  )
})

t.test('a server of an older version, which ends when it is asked for the newest protocol, is started as it needs', async t => {
  const { executor } = await openMcp(t)
  const skill = serverSkill({ MODE: 'exit-on-discover' })
  t.match(await runMcp(executor, callOf(skill, 'echo', { text: 'old' })), { status: 'success', output: 'old' })
})

t.test('the list of tools is kept in a file: at a start, when it changes, and while the server is down', async t => {
  const { executor, close } = await openMcp(t)
  const skill = serverSkill({ MODE: 'early-change' })
  const file = String(skill.target?.['list_file'])
  const read = async (): Promise<{ listed: { tools: unknown[] }, fault?: string }> =>
    JSON.parse(await readFile(file, 'utf8').catch(() => '{"listed":{"tools":[]}}')) as { listed: { tools: unknown[] } }
  executor.follow?.([skill], () => undefined)
  await until(async () => (await read()).listed.tools.length === 17)
  t.match(
    await read(), {
      way: skill.name, listed: {
        server: { name: 'test', version: '1.2.3' }, instructions: 'How to use it', era: 'legacy'
      }
    }
  )
  await runMcp(executor, callOf(skill, 'grow'))
  await until(async () => (await read()).listed.tools.length === 18)
  await close()
  const again = await openMcp(t)
  const broken = { ...skill, target: { ...skill.target, command: ['not-there'] } }
  t.match(await runMcp(again.executor, callOf(broken, 'echo')), { status: 'failed' })
  await until(async () => (await read()).fault !== undefined)
  t.equal((await read()).listed.tools.length, 18, 'the tools stay')
})

t.test('a server gets the least environment, what its skill declares, and its secrets', async t => {
  const { executor } = await openMcp(t)
  process.env['SKILLET_SERVER_PORT'] = '1'
  process.env['SERVICE_API_KEY'] = 'key'
  process.env['DECLARED'] = 'yes'
  const skill = serverSkill({ TOKEN_TEXT: 'Bearer {{TOKEN}}' })
  skill.permissions = { ...skill.permissions, env: ['DECLARED', 'SERVICE_API_KEY'], secrets: ['TOKEN'] }
  const { output } = await runMcp(executor, callOf(skill, 'env'), { secrets: { TOKEN: 's3cret' } })
  const env = JSON.parse(output) as Record<string, string>
  t.match(env, { TOKEN: 's3cret', TOKEN_TEXT: 'Bearer s3cret', DECLARED: 'yes' })
  // The test runner adds variables of its own to all processes that are started.
  const unexpected = Object.keys(env).filter(name =>
    !/^(PATH|LANG|TZ|TMPDIR|LC_.*|TOKEN|TOKEN_TEXT|DECLARED|_TAPJS_.*|NODE_OPTIONS)$/.test(name))
  t.same(unexpected, [])
  const before = (await runMcp(executor, callOf(skill, 'pid'), { secrets: { TOKEN: 's3cret' } })).output
  const after = (await runMcp(executor, callOf(skill, 'pid'), { secrets: { TOKEN: 'other' } })).output
  t.not(after, before, 'a changed secret takes effect')
  await gone([Number(before)])
})

t.test('no process is left: after idle time, at the close, of a server that ignores everything, of its children', async t => {
  const { executor, close } = await openMcp(t)
  const idle = serverSkill({}, { idle_ms: 50 })
  const pid = Number((await runMcp(executor, callOf(idle, 'pid'))).output)
  await gone([pid])
  const stubborn = serverSkill({ MODE: 'stays' })
  const stays = Number((await runMcp(executor, callOf(stubborn, 'pid'))).output)
  const child = Number((await runMcp(executor, callOf(stubborn, 'child'))).output)
  t.ok(await runs(stays) && await runs(child))
  const other = serverSkill()
  const orphan = Number((await runMcp(executor, callOf(other, 'child'))).output)
  await runMcp(executor, callOf(other, 'die'))
  await gone([orphan])
  await close()
  await gone([stays, child])
})

t.test('no more servers run than the setting says: the one that was idle longest ends', async t => {
  const { executor } = await openMcp(t, { plugin: { 'executor-mcp': { servers: 2 } } })
  const skills = [serverSkill(), serverSkill(), serverSkill()] as const
  const pids: number[] = []
  for (const skill of skills) pids.push(Number((await runMcp(executor, callOf(skill, 'pid'))).output))
  await gone([pids[0] ?? 0])
  t.ok(await runs(pids[1] ?? 0) && await runs(pids[2] ?? 0))
  const abort = new AbortController()
  const hangs = skills.slice(1).map(skill => runMcp(executor, callOf(skill, 'hang'), { signal: abort.signal }))
  await until(async () => (await runMcp(executor, callOf(skills[1], 'echo', { text: '1' }))).status === 'success')
  t.match(
    await runMcp(executor, callOf(skills[0], 'pid')), {
      status: 'failed', error: { message: /2 MCP servers run already, and none is idle/ }
    }
  )
  abort.abort()
  await Promise.all(hangs)
})
