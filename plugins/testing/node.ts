import assert from 'node:assert/strict'
import type { TestContext as NodeTest } from 'node:test'
import { Scope } from '../../kernel/index.ts'
import type { ErrorPattern, TestContext } from './context.ts'
import { fits } from './fits.ts'

/** The context of a test of `node:test`. */
export function forNode (t: NodeTest): TestContext {
  const scope = new Scope()
  t.after(() => scope.close())
  return {
    test: (name, run, { skip } = {}) =>
      t.test(name, { ...(skip !== undefined && { skip }) }, async inner => { await run(forNode(inner)) }),
    teardown (undo) { scope.defer(async () => { await undo() }) },
    equal (actual, expected, message) { assert.equal(actual, expected, message) },
    not (actual, unexpected, message) { assert.notEqual(actual, unexpected, message) },
    same (actual, expected, message) { assert.deepEqual(actual, expected, message) },
    match (actual, pattern, message) { assertFits(actual, pattern, message) },
    ok (value, message) { assert.ok(value, message) },
    notOk (value, message) { assert.ok(!value, message) },
    rejects: (promise, pattern, message) => assert.rejects(promise, fitting(pattern), message),
    throws (call, pattern, message) { assert.throws(call, fitting(pattern), message) }
  }
}

/** What says of an error whether it fits: any does where nothing is asked for. */
function fitting (pattern?: ErrorPattern): (error: unknown) => boolean {
  return error => {
    if (pattern !== undefined) assertFits(error, pattern instanceof RegExp ? { message: pattern } : pattern)
    return true
  }
}

function assertFits (actual: unknown, pattern: unknown, message?: string): void {
  if (fits(actual, pattern)) return
  throw new assert.AssertionError({
    message: message ?? 'it does not fit what is wanted', actual, expected: pattern, operator: 'fits'
  })
}
