import { spawn } from 'node:child_process'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Outcome } from '../../kernel/index.ts'
import plugin from '../../plugins/executor-container/index.ts'
import { until } from '../../plugins/testing/until.ts'
import { testExecutor } from '../conformance/executor.ts'
import { containerCall, fakeEngine, openContainers, shellInContainer, temporaryFolder } from '../support/containers.ts'
import { runCall } from '../support/native.ts'

t.setTimeout(280_000)

const shared = await fakeEngine(t)

testExecutor('executor-container', {
  open: async config => await openContainers({ engine: shared.file }, config),
  isolation: 'container',
  calls: {
    echo: text => containerCall(['printf', '%s', '{{text}}'], { text }),
    fail: message => shellInContainer('echo "$1" >&2; exit 3', [message]),
    sleep: ms => shellInContainer('sleep "$1"; printf slept', [String(ms / 1000)]),
    hang: () => shellInContainer('while :; do sleep 60; done'),
    output: bytes => shellInContainer('head -c "$1" /dev/zero | tr "\\0" x', [String(bytes)]),
    append: (file, text) => shellInContainer('printf %s "$2" >> "$1"', [file, text])
  },
  concurrency: {
    config: { execution: { processes: 2 } }, limit: 2, hang: shellInContainer('while :; do sleep 60; done')
  }
})

const message = (outcome: Outcome): string => outcome.status === 'failed' ? outcome.error.message : outcome.status

t.test('a container is closed, has what its permissions open, and no value of a variable is an argument', async t => {
  const engine = await fakeEngine(t)
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'a,b "c"'))
  await mkdir(join(folder, 'out'))
  const { executor, close } = await openContainers({
    engine: engine.file, engine_options: ['--option', 'runc'], run_options: ['--ulimit', 'nofile=9']
  })
  t.teardown(close)
  const call = containerCall(['printf', '%s', '{{text}}'], { text: '--privileged', out: join(folder, 'out') }, {
    spec: { folder: '/skill' }, env: { TOKEN: 'x{{text}}', HOME: '/home/box' },
    permissions: {
      read: [join(folder, 'a,b "c"'), join(folder, 'absent')], write: ['{{out}}'], secrets: ['API_KEY'],
      memory_bytes_max: 5_242_880, processes_max: 7
    },
    skill: { directory: folder }
  })
  const outcome = await executor.run(
    { execution_id: 'x', ...call, timeout_ms: 60_000, config: {}, secrets: { API_KEY: 'hidden\nvalue' } },
    { started () {}, progress () {}, log () {} }, new AbortController().signal
  )
  t.match(outcome, { status: 'success', output: '--privileged' })
  const args = await engine.lastRun()
  t.same(args.slice(0, 3), ['--option', 'runc', 'run'], 'options of the engine stand before its command')
  for (const pair of [
    ['--network', 'none'], ['--cap-drop', 'all'], ['--security-opt', 'no-new-privileges'], ['--pull', 'never'],
    ['--pids-limit', '7'], ['--memory', '5242880'], ['--memory-swap', '5242880'], ['--env', 'TOKEN'],
    ['--env', 'API_KEY'], ['--ulimit', 'nofile=9'],
    ['--mount', `type=bind,"source=${folder}/a,b ""c""","target=${folder}/a,b ""c""",readonly`],
    ['--mount', `type=bind,source=${folder}/out,target=${folder}/out`],
    ['--mount', `type=bind,source=${folder},target=/skill,readonly`]
  ]) t.ok(args.some((arg, i) => arg === pair[0] && args[i + 1] === pair[1]), pair.join(' '))
  t.ok(args.includes('--read-only') && args.includes('--env=HOME=/home/box'))
  t.same(args.slice(args.indexOf('box:1')), ['box:1', '%s', '--privileged'], 'arguments stand after the image')
  t.notMatch(args.join('\n'), /hidden|x--privileged|absent/)
  const environment = await readFile(join(engine.folder, 'environment'), 'utf8')
  t.match(environment, /^API_KEY=hidden\nvalue$/m)
  t.match(environment, /^TOKEN=x--privileged$/m)
  t.notMatch(environment, /^HOME=\/home\/box$/m, 'the engine keeps its own')
})

t.test('what is secret, or of the system, is not mounted', async t => {
  const engine = await fakeEngine(t)
  const folder = await temporaryFolder(t)
  await symlink('/etc/shadow', join(folder, 'link'))
  const data_dir = join(folder, 'data')
  await mkdir(data_dir)
  const { executor, close } = await openContainers({ engine: engine.file }, {}, data_dir)
  t.teardown(close)
  const attempts = [
    ...[
      '/', '/etc/shadow', join(folder, 'link'), '/proc/1', '/run', '/var/run', '/etc', '/dev/null', folder,
      'notes', '~/x'
    ].map(path => ({ read: ['{{path}}'], path })),
    ...['/', folder, data_dir, '/etc'].map(path => ({ write: ['{{path}}'], path })),
    ...['/', '/run', '/etc', folder].map(path => ({ read: [path], path: '' }))
  ]
  for (const { path, ...permissions } of attempts) {
    const outcome = await runCall(executor, containerCall(['cat', '{{path}}'], { path }, { permissions }))
    t.match(message(outcome), /may not use|absolute paths only/, `${path} ${JSON.stringify(permissions)}`)
  }
  const absent = containerCall(['cat', '{{path}}'], { path: `${folder}/no` }, { permissions: { read: ['{{path}}'] } })
  t.match(message(await runCall(executor, absent)), /does not exist/)
  t.same((await engine.calls()).filter(([command]) => command === 'run'), [], 'none was started')
})

t.test('a run that is ended takes its container with it, also one that the engine makes late', async t => {
  const engine = await fakeEngine(t)
  const { executor, close } = await openContainers({ engine: engine.file })
  t.teardown(close)
  const hang = shellInContainer('while :; do sleep 60; done')
  t.match(await runCall(executor, hang, 400), { status: 'timeout', started: ['container'] })
  t.same(await engine.containers(), [], 'the time limit')
  const abort = new AbortController()
  const run = runCall(executor, hang, 60_000, abort)
  await until(async () => (await engine.containers()).length === 1)
  abort.abort()
  t.match(await run, { status: 'cancelled' })
  t.same(await engine.containers(), [], 'a cancellation')
  const flood = await runCall(executor, shellInContainer('yes'))
  t.match(message(flood), /16 MiB/)
  t.same(await engine.containers(), [], 'a flood of output')
  const killed = await runCall(executor, shellInContainer('kill -9 "$PPID"; sleep 600'))
  t.match(message(killed), /SIGKILL/)
  t.same(await engine.containers(), [], 'the death of the client')
  await writeFile(join(engine.folder, 'slow'), '1')
  t.match(await runCall(executor, hang, 200), { status: 'timeout' })
  await until(async () => (await engine.calls()).filter(([command]) => command === 'rm').length >= 6)
  await until(async () => (await engine.containers()).length === 0)
  await rm(join(engine.folder, 'slow'))
  await writeFile(join(engine.folder, 'ignore'), '')
  t.match(await runCall(executor, hang, 200), { status: 'timeout' }, 'an engine that removes nothing holds nobody up')
  t.equal((await engine.containers()).length, 1)
  await rm(join(engine.folder, 'ignore'))
  await until(async () => (await engine.containers()).length === 0)
})

t.test('failures of the engine say what to do', async t => {
  const engine = await fakeEngine(t)
  const { executor, close } = await openContainers({ engine: engine.file })
  t.teardown(close)
  const echo = containerCall(['printf', 'x'])
  const inMissing = containerCall(['printf', 'x'], {}, { spec: { image: 'missing:2' } })
  t.match(message(await runCall(executor, inMissing)),
    /the image missing:2 is not on this machine; pull it: \S*docker pull missing:2$/)
  const exits = await runCall(executor, shellInContainer('echo git: not found >&2; exit 127'))
  t.match(message(exits), /exited with code 127: git: not found$/, 'no package of this machine is named')
  t.match(message(await runCall(executor, shellInContainer('exit 137'))),
    /SIGKILL, as when it uses more than its 2048 MiB/)
  t.match(message(await runCall(executor, shellInContainer('exit 125'))), /exited with code 125$/)
  await writeFile(join(engine.folder, 'down'), '')
  t.match(message(await runCall(executor, echo)), /docker does not answer; start it/)
  await rm(join(engine.folder, 'down'))
  t.match(await runCall(executor, echo), { status: 'success', output: 'x' })
  const listed = containerCall(['printf', 'x'], {}, { permissions: { network: ['a.example'] } })
  t.match(message(await runCall(executor, listed)), /list in permissions.network/)
  const nowhere = await openContainers({ engine: '/nowhere/engine' })
  t.teardown(() => nowhere.close())
  t.match(message(await runCall(nowhere.executor, echo)),
    /container engine "\/nowhere\/engine" was not found; correct plugin/)
})

t.test('the engine is found: docker, or podman where docker has no daemon', async t => {
  const docker = await fakeEngine(t)
  const podman = await fakeEngine(t, 'podman')
  await writeFile(join(podman.folder, 'version'), 'podman version 5.0\n')
  const before = process.env['PATH'] ?? ''
  t.teardown(() => { process.env['PATH'] = before })
  process.env['PATH'] = `${docker.folder}:${podman.folder}:${before}`
  const echo = containerCall(['printf', 'x'])
  for (const [down, used] of [[false, docker], [true, podman]] as const) {
    if (down) await writeFile(join(docker.folder, 'down'), '')
    const { executor, close } = await openContainers({})
    t.match(await runCall(executor, echo), { status: 'success' })
    await close()
    t.equal((await used.calls()).filter(([command]) => command === 'run').length, 1)
  }
})

t.test('containers of a process that was killed are removed by the next, and no others', async t => {
  const engine = await fakeEngine(t)
  const data_dir = await temporaryFolder(t)
  const first = await openContainers({ engine: engine.file }, {}, data_dir)
  t.teardown(() => first.close())
  const abort = new AbortController()
  const mine = runCall(first.executor, shellInContainer('sleep 600'), 60_000, abort)
  await until(async () => (await engine.containers()).length === 1)
  const [name = ''] = await engine.containers()
  const labels = await readFile(join(engine.folder, 'containers', `${name}.labels`), 'utf8')
  const stray = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
  const ended = new Promise(resolve => { stray.once('exit', resolve) })
  for (const [other, text] of [
    ['skillet-dead', labels.replace(/owner=\d+ /, 'owner=999999 ')],
    ['skillet-elsewhere', labels.replace(/owner=\d+ /, 'owner=999999 ').replace(/place=\w+/, 'place=0')]
  ] as const) {
    await writeFile(join(engine.folder, 'containers', `${other}.labels`), text)
    await writeFile(join(engine.folder, 'containers', other), String(stray.pid))
  }
  const second = await openContainers({ engine: engine.file }, {}, data_dir)
  t.teardown(() => second.close())
  second.executor.follow?.([], () => undefined)
  await ended
  await until(async () => (await engine.containers()).length === 2)
  t.same((await engine.containers()).toSorted(), [name, 'skillet-elsewhere'].toSorted())
  abort.abort()
  await mine
})

t.test('an engine that was never used is not asked at the start', async t => {
  const engine = await fakeEngine(t)
  const { executor, close } = await openContainers({ engine: engine.file })
  executor.follow?.([], () => undefined)
  await close()
  t.same(await engine.calls(), [])
})

t.test('doctor names the engine, or what is missing, where a skill needs it', async t => {
  const engine = await fakeEngine(t)
  const examine = async (file: string, ...calls: ReturnType<typeof containerCall>[]) => await plugin.examine?.({
    config: { plugin: { 'executor-container': { engine: file } } } as never, data_dir: '/',
    skills: calls.map(({ skill }) => skill), signal: new AbortController().signal
  })
  const [there, missing] = ['box:1', 'missing:1'].map(image => containerCall(['x'], {}, { spec: { image } }))
  if (there === undefined || missing === undefined) throw new Error('there are two')
  t.same(await examine(engine.file), [])
  t.match(await examine(engine.file, there, missing), [
    { level: 'ok', about: 'container engine', text: /99\.0/ },
    { level: 'problem', about: 'image missing:1', remedy: /docker pull missing:1$/ }
  ])
  t.match(await examine('/nowhere/docker', there), [{ level: 'problem', text: /was not found.*needed by subject/ }])
  await writeFile(join(engine.folder, 'down'), '')
  t.match((await examine(engine.file, there))?.[0], { level: 'problem', text: /does not answer/ })
})
