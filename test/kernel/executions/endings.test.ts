import t from 'tap'
import {
  Bus, Canceller, completeConfig, silentLogger, thisProcess, type Execution, type Executor, type Outcome, type Storage
} from '../../../kernel/index.ts'
import { Executions } from '../../../kernel/executions/executions.ts'
import { noSecrets } from '../../../kernel/secrets/secrets.ts'
import { MemoryStorage } from '../../../plugins/storage-memory/memory-storage.ts'
import { makeExecution } from '../../../plugins/testing/executions.ts'
import { skillOf } from '../../../plugins/testing/skill.ts'

const nothing = { output: '', output_truncated: false }
const rest = { parameters: {}, timeout_ms: 100, transport: 'http', key: null } as const
const job = { ...skillOf('odd', { name: 'tool' }), ...rest }

/** Executions on a memory store and an executor that does what the test says. */
function executionsOn (run: Executor['run']): { executions: Executions, storage: Storage, heard: string[] } {
  const storage = new MemoryStorage(1_000, 30, 0, 100)
  const bus = new Bus(silentLogger)
  const heard: string[] = []
  bus.on('transition', ({ status }) => { heard.push(status) })
  const executions = new Executions({
    config: completeConfig({ execution: { drain_ms: 0 } }),
    storage,
    executors: new Map([['odd', { runtime: 'odd', run }]]),
    secrets: noSecrets,
    private_paths: [],
    bus,
    log: silentLogger
  })
  return { executions, storage, heard }
}

t.test('an executor that answers without a start makes no record without an end', async t => {
  for (const status of ['success', 'timeout'] as const) {
    const { executions, storage, heard } = executionsOn(async () => ({ ...nothing, status }))
    const { id } = await executions.run(job, new Canceller())
    const failed = { status: 'failed', error: { code: 'INTERNAL' } }
    t.match(await storage.get(id), { execution: failed, owner: null }, status)
    t.same(heard, ['queued', 'failed'])
  }
})

t.test('a run that ends after a drain has closed its record changes nothing', async t => {
  const late = { ...nothing, status: 'success', output: 'late' } as const
  for (const outcome of [late, new Error('the executor failed')]) {
    let answer: () => void = () => {}
    const { executions, storage, heard } = executionsOn((_task, observer) => {
      observer.started('none')
      return new Promise<Outcome>((resolve, reject) => {
        answer = () => {
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome)
        }
      })
    })
    let id = ''
    const ended: Promise<Execution> = executions.run(job, new Canceller(), known => { id = known })
    await executions.drain(0)
    const closed = await storage.get(id)
    t.match(closed, { execution: { status: 'interrupted', error: { code: 'INTERRUPTED' } }, owner: null })
    answer()
    t.same(await ended, closed?.execution)
    t.same(await storage.get(id), closed)
    t.same(heard, ['queued', 'running', 'interrupted'])
  }
})

t.test('a final state that was stored before its process died stays', async t => {
  const { executions, storage, heard } = executionsOn(() => { throw new Error('nothing runs') })
  const dead = { ...thisProcess(), started: 'long ago' }
  // The first of two transactions of a commit writes it so.
  const execution = makeExecution({ status: 'success' })
  storage.save({ execution, owner: dead })
  const left = makeExecution({ status: 'running', finished_at: null })
  storage.save({ execution: left, owner: dead })
  t.equal(await executions.recover(new AbortController().signal), 1)
  t.same(await storage.get(execution.id), { execution, owner: null })
  t.match(await storage.get(left.id), { execution: { status: 'interrupted' }, owner: null })
  t.same(await storage.unfinished(), [])
  t.same(heard, ['interrupted'])
})
