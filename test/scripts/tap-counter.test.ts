import { fileURLToPath } from 'node:url'
import t from 'tap'

interface Counter { read (line: string): { isTest: boolean, failed: boolean }, passed: number, failed: number }

const file = fileURLToPath(new URL('../../../scripts/tap-counter.mjs', import.meta.url))
const { TapCounter } = await import(file) as { TapCounter: new () => Counter }

/** Counts the tests of a text. */
function count (text: string): [passed: number, failed: number] {
  const counter = new TapCounter()
  for (const line of text.split('\n')) counter.read(line)
  return [counter.passed, counter.failed]
}

t.test('tests are counted, not assertions, nor files or tests that hold others', async t => {
  t.same(count(`
        ok 1 - an assertion
        ok 2 - another
    ok 1 - a test # time=5ms
            ok 1 - an assertion
        ok 1 - inner # time=1ms
        ok 2 - inner, too # time=1ms
    ok 2 - a test of tests # time=5ms
    ok 3 - elsewhere # SKIP no such system # time=1ms
ok 1 - dist/test/a.test.js # time=20ms
    ok 1 - an assertion outside of tests
ok 2 - dist/test/b.test.js # time=2ms`), [4, 0])
})

t.test('a failure counts once, at the innermost test, and a file that breaks is one', async t => {
  t.same(count(`
            not ok 1 - an assertion
        not ok 1 - inner # time=1ms
        ok 2 - inner, too # time=1ms
    not ok 1 - a test of tests # time=5ms
not ok 1 - dist/test/a.test.js # time=20ms
    ok 1 - a test # time=1ms
not ok 2 - dist/test/b.test.js # time=2ms
not ok 3 - dist/test/c.test.js # time=2ms`), [2, 3])
})
