import { Worker } from 'node:worker_threads'
import t from 'tap'
import { letThreadsEnd } from '../../../kernel/index.ts'
import { until } from '../../../plugins/testing/until.ts'

t.test('a thread whose loop the compiler has unrolled ends when it is told to', async t => {
  letThreadsEnd()
  const turns = new Int32Array(new SharedArrayBuffer(4))
  const thread = new Worker(
    'const turns = require("node:worker_threads").workerData; for (;;) { turns[0]++; new Array(1000).fill(1.5) }',
    { eval: true, workerData: turns }
  )
  await until(() => (turns[0] ?? 0) > 500_000) // which it has compiled by then
  t.equal(await thread.terminate(), 1)
})
