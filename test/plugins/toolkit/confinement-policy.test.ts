import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { completeConfig, silentLogger } from '../../../kernel/index.ts'
import { ConfinementPolicy } from '../../../plugins/toolkit/sandbox/confinement-policy.ts'
import type { Lacking } from '../../../plugins/toolkit/sandbox/levels.ts'
import { until } from '../../../plugins/testing/until.ts'

/** Two policies of one kernel, as those of two executors, on a machine without sandbox. */
function policies (mode: 'auto' | 'required' | 'off') {
  const { isolation } = completeConfig({ isolation: { mode } })
  const warnings: string[] = []
  let probes = 0
  const probe = async (): Promise<Lacking> => {
    probes++
    return { sandbox: 'no user namespaces', strict: 'no user namespaces' }
  }
  const options = { isolation, probe, log: silentLogger, health: { warn (text: string) { warnings.push(text) } } }
  return { all: [new ConfinementPolicy(options), new ConfinementPolicy(options)], warnings, probes: () => probes }
}

t.test('a server says what its machine lacks before anything runs, once', async t => {
  for (const [mode, says] of [
    ['auto', /run without a sandbox: this machine lacks the level "sandbox" \(no user namespaces\): ./],
    ['required', /do not run: this machine lacks the level "sandbox" \(no user namespaces\)$/]
  ] as const) {
    const { all, warnings, probes } = policies(mode)
    for (const policy of all) policy.probeSoon()
    await until(() => probes() === 2)
    await Promise.all(all.map(policy => policy.settled()))
    t.match(warnings, [says])
    t.equal(warnings.length, 1)
  }
})

t.test('nothing is tried out where isolation is off, or the server has ended', async t => {
  const off = policies('off')
  const ended = policies('auto')
  for (const { all } of [off, ended]) for (const policy of all) policy.probeSoon()
  await Promise.all(ended.all.map(policy => policy.settled()))
  await setTimeout(1_500)
  t.same([off.probes(), ended.probes()], [0, 0])
})
