import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Outcome } from '../../kernel/index.ts'
import { until } from '../../plugins/testing/until.ts'
import { containerCall, openContainers, shellInContainer, temporaryFolder } from '../support/containers.ts'
import { runCall } from '../support/native.ts'
import { openPodman } from '../support/podman.ts'

t.setTimeout(280_000)

const podman = await openPodman()
const skip = typeof podman === 'string' ? podman : false
if (typeof podman === 'object') t.teardown(podman.remove)

type More = Parameters<typeof shellInContainer>[2]
const image = typeof podman === 'object' ? podman.image : ''
const shell = (script: string, args: string[] = [], more: More = {}) =>
  shellInContainer(script, args, { ...more, spec: { image, ...more?.spec } })
const options = typeof podman === 'object' ? podman.options : {}
const containers = async (): Promise<string[]> => typeof podman === 'object' ? await podman.containers() : []
const message = (outcome: Outcome): string => outcome.status === 'failed' ? outcome.error.message : outcome.status

t.test('a real container is closed, and opens what the permissions name', { skip }, async t => {
  const { executor, close } = await openContainers(options)
  t.teardown(close)
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'in, "put"'))
  await mkdir(join(folder, 'out'))
  await writeFile(join(folder, 'in, "put"', 'note'), 'a note')
  const closed = await runCall(executor, shell(`
    touch /bin/x 2>/dev/null && echo 'wrote to the image'
    ls -a ${folder} 2>/dev/null && echo 'saw a folder'
    while read key value; do
      case "$key" in CapEff:|CapBnd:|NoNewPrivs:) echo "$key$value" ;; esac
    done < /proc/self/status
    ls /sys/class/net; touch /tmp/x && echo temporary; echo "$HIDDEN"`))
  t.match(closed, {
    status: 'success', output: `CapEff:${'0'.repeat(16)}\nCapBnd:${'0'.repeat(16)}\nNoNewPrivs:1\nlo\ntemporary\n\n`
  })
  const more: More = {
    permissions: { read: [join(folder, 'in, "put"')], secrets: ['API_KEY'] },
    skill: { directory: folder }, spec: { folder: '/skill' }
  }
  const call = shell('cat "$1/note" && ! touch "$1/x" 2> /dev/null && cat "/skill/$2/note"; printf "%s" "$API_KEY"',
    [join(folder, 'in, "put"'), 'in, "put"'], more)
  const outcome = await executor.run(
    { execution_id: 'x', ...call, timeout_ms: 60_000, config: {}, secrets: { API_KEY: 'a\nsecret' } },
    { started () {}, progress () {}, log () {} }, new AbortController().signal
  )
  t.match(outcome, { status: 'success', output: 'a notea notea\nsecret' })
  const out = join(folder, 'out')
  const written = shell('echo written > "$1/file"', [out], { permissions: { write: [out] } })
  t.match(await runCall(executor, written), { status: 'success' })
  t.equal(await readFile(join(folder, 'out', 'file'), 'utf8'), 'written\n')
  t.equal((await stat(join(folder, 'out', 'file'))).uid, process.getuid?.(), 'the file is the user\'s')
  const echoed = shell('cat', [], { stdin: 'some {{script}}' })
  t.match(await runCall(executor, echoed), { status: 'success', output: 'some cat' }, 'standard input')
})

t.test('a real container ends at its limits, and nothing of it is left', { skip }, async t => {
  const { executor, close } = await openContainers(options)
  t.teardown(close)
  t.match(await runCall(executor, shell('echo out; echo why >&2; exit 7')), {
    status: 'failed', output: 'out\n', error: { message: /exited with code 7: why/, details: { exit_code: 7 } }
  })
  const hungry = shell('x=$(yes | head -c 300000000); echo survived', [], {
    permissions: { memory_bytes_max: 67_108_864 }
  })
  t.match(message(await runCall(executor, hungry)), /more than its 64 MiB of memory/)
  const forks = shell('for i in 1 2 3 4 5 6 7 8 9; do sleep 2 & done; wait; echo all', [], {
    permissions: { processes_max: 5 }
  })
  t.match(message(await runCall(executor, forks)), /fork/)
  t.match(await runCall(executor, shell('trap "" TERM; while :; do sleep 60; done'), 1_500), { status: 'timeout' })
  t.match(message(await runCall(executor, shell('yes'))), /16 MiB/)
  await until(async () => (await containers()).length === 0)
  const elsewhere = shell('true', [], { spec: { image: 'localhost/skillet-absent:9' } })
  t.match(message(await runCall(executor, elsewhere)), /skillet-absent:9 is not on this machine; pull it: podman pull/)
  t.match(message(await runCall(executor, containerCall(['nothing'], {}, { spec: { image } }))),
    /the program "nothing" was not found in the image/)
})
