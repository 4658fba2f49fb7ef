import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { until } from '../../plugins/testing/until.ts'

const parent = fileURLToPath(new URL('../../../scripts/parent.mjs', import.meta.url))

t.test('what npm starts ends in order when npm is ended, and not before', async t => {
  const folder = t.testdir({})
  const told = join(folder, 'told')
  writeFileSync(join(folder, 'server.mjs'), `
    import { writeFileSync } from 'node:fs'
    import { endWithNpm } from ${JSON.stringify(parent)}
    endWithNpm()
    const running = setInterval(() => {}, 1000)
    process.once('SIGTERM', () => { writeFileSync(${JSON.stringify(told)}, 'drained'); clearInterval(running) })
    setTimeout(() => { writeFileSync(${JSON.stringify(told)}, String(process.pid)) }, 1500)
  `)
  // With a second command, the shell stays between npm and the server.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start: 'node server.mjs; true' } }))
  const npm = spawn('npm', ['start'], { cwd: folder, stdio: 'ignore' })
  t.teardown(() => npm.kill('SIGKILL'))
  const said = (): string => {
    try {
      return readFileSync(told, 'utf8')
    } catch {
      return ''
    }
  }
  await until(() => /^\d+$/.test(said())) // after several looks for npm, which is there
  const pid = Number(said())
  t.teardown(() => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {} // it has ended
  })
  npm.kill('SIGTERM')
  if (npm.exitCode === null && npm.signalCode === null) await once(npm, 'exit')
  await until(() => said() === 'drained')
  t.pass('it was told to end')
})
