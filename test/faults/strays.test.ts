import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { confinedHelper } from '../../plugins/executor-native/helper-program.ts'
import { tryLevels } from '../../plugins/executor-native/sandbox/try-levels.ts'
import { until } from '../../plugins/testing/until.ts'
import { isRunning, makeUser, openAt, untrusted } from '../support/confined.ts'
import { isLong, limit_ms } from '../support/faults.ts'
import { runCall, usedHelper } from '../support/native.ts'
import { gone } from '../support/processes.ts'

// What a command leaves behind has ended a second after the command did, at each level of isolation.

t.setTimeout(limit_ms)
const rounds = isLong ? 50 : 10
/** The time that is promised: none of a command's processes lives longer after its end, in milliseconds. */
const promised_ms = 1_000

const user = makeUser(t, {})
const lacking = await tryLevels(confinedHelper())
const levels = (['process', 'sandbox', 'strict'] as const).map(level => {
  const missing = level === 'process'
    ? (process.platform === 'linux' && usedHelper === 'auto' ? undefined : 'only the helper in C adopts')
    : lacking[level]
  return { level, skip: missing === undefined ? false : `not here: ${missing}` }
})

/** A shell script that leaves processes behind: in a session of its own, and after two forks. */
const leaving = (name: string): string =>
  `setsid sh -c "sleep 1000; : ${name}" & (sh -c 'setsid sh -c "sleep 1000; : ${name}" & ' &); `

for (const { level, skip } of levels) {
  t.test(`nothing is left of a command at the level ${level}, however it ends`, { skip }, async t => {
    const executor = await openAt(t, level)
    const name = `left${process.pid}${level}`
    await Promise.all(Array.from({ length: rounds }, async (_, round) => {
      const isEnding = round % 2 === 0
      const outcome = await runCall(
        executor, untrusted(user, `${leaving(name)} ${isEnding ? 'sleep 0.1' : 'sleep 1000'}`), isEnding ? 60_000 : 500
      )
      t.equal(outcome.status, isEnding ? 'success' : 'timeout')
    }))
    await setTimeout(promised_ms)
    t.notOk(isRunning(name))
  })

  t.test(`nothing is left of commands at the level ${level} after the server was killed`, { skip }, async t => {
    const name = `orphan${process.pid}${level}`
    const support = (file: string): string => JSON.stringify(new URL(`../support/${file}.js`, import.meta.url).href)
    const program = `
      import { openAt, untrusted } from ${support('confined')}
      import { runCall } from ${support('native')}
      const executor = await openAt({ teardown () {} }, '${level}')
      void runCall(executor, untrusted(${JSON.stringify(user)}, ${JSON.stringify(`${leaving(name)} sleep 1000`)}))`
    for (let round = 0; round < rounds; round++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'ignore', 'inherit']
      })
      await until(() => isRunning(name))
      await setTimeout(round * 7) // before, while and after the others start
      child.kill('SIGKILL')
      await Promise.all([once(child, 'exit'), gone([child.pid ?? 0])])
      await setTimeout(promised_ms)
      t.notOk(isRunning(name), `round ${round + 1}`)
    }
  })
}
