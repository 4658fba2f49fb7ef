import * as fc from 'fast-check'
import t from 'tap'
import { EXECUTION_STATUSES, type ExecutionQuery } from '../../kernel/index.ts'
import { forTap, testStorage as suite, type StorageHarness } from '../../plugins/testing/index.ts'
import { base_ms, casesMin, finals, names, type Command } from '../../plugins/testing/storage-model.ts'

const name = fc.constantFrom(...names)
const second = fc.integer({ min: 0, max: 20 })

const query: fc.Arbitrary<ExecutionQuery> = fc.record({
  limit: fc.integer({ min: 1, max: 40 }),
  offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 600 })),
  skill_name: name,
  tool_name: name,
  status: fc.constantFrom(...EXECUTION_STATUSES),
  created_from_ms: second.map(at => base_ms + at * 1000),
  created_before_ms: second.map(at => base_ms + at * 1000),
  allows:
    fc.constantFrom((skill: string) => skill === 'git', (skill: string, tool: string) => skill === 'a' || tool === 'ab')
}, { requiredKeys: ['limit', 'offset'] })

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    do: fc.constant('save' as const), count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 150 })), skill: name,
    tool: name,
    status: fc.constantFrom(...EXECUTION_STATUSES), at: second,
    output: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('x'.repeat(3_000)))
  }),
  fc.record({ do: fc.constant('finish' as const), which: fc.nat(), status: fc.constantFrom(...finals) }),
  fc.record({ do: fc.constant('interrupt' as const), every: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('commit' as const) }),
  fc.record({ do: fc.constant('list' as const), query })
)

/** The suite of storages, whose cases are drawn, and made small where one fails, by fast-check. */
export function testStorage (
  name: string,
  open: StorageHarness['open'],
  openBeside: NonNullable<StorageHarness['openBeside']>
): void {
  void t.test(`${name} is a storage`, t => suite(forTap(t), {
    open,
    openBeside,
    // The same on each machine; another seed is another set of cases.
    cases: check =>
      fc.assert(fc.asyncProperty(fc.array(command, { maxLength: 40 }), check), { numRuns: casesMin, seed: 42 })
  }))
}
