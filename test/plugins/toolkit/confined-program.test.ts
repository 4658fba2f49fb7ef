import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { whyNoScriptSandbox } from '../../../plugins/executor-worker/confined/probe.ts'
import { confinedProgram } from '../../../plugins/toolkit/sandbox/confined-program.ts'

const program = confinedProgram()
const missing = await whyNoScriptSandbox(program)
const rounds = 400
/** Killed at a random moment within this time after its start, in milliseconds: mostly while it enters the sandbox. */
const within_ms = 6

t.test('a program that is killed while it starts leaves no process behind', { skip: missing ?? false }, async t => {
  t.setTimeout(120_000)
  let closed = 0
  for (let i = 0; i < rounds; i++) {
    const child = spawn(program ?? '', ['--sandbox', '--network', 'off'], {
      cwd: '/', env: {}, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe']
    })
    // Its streams close when no process holds them any more.
    const end = once(child, 'close')
    child.on('close', () => { closed++ })
    await setTimeout(Math.random() * within_ms)
    child.kill('SIGKILL')
    await Promise.race([end, setTimeout(30_000, undefined, { ref: false })])
    if (closed !== i + 1) break
  }
  t.equal(closed, rounds)
})
