import t from 'tap'
import { forTap, testExecutor as suite, type ExecutorHarness } from '../../plugins/testing/index.ts'

export type { Call, ExecutorHarness } from '../../plugins/testing/index.ts'

/** The suite of executors. */
export function testExecutor (name: string, harness: ExecutorHarness): void {
  void t.test(`${name} is an executor`, async t => {
    t.setTimeout(180_000)
    await suite(forTap(t), harness)
  })
}
