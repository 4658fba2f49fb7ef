import type { ErrorPattern, TestContext } from './context.ts'

type Said = [] | [message: string]

/** What is used of tap's `t`. */
export interface TapTest {
  test (name: string, options: { skip?: string }, run: (t: TapTest) => Promise<void>): Promise<unknown>
  teardown (undo: () => unknown): void
  equal (actual: unknown, expected: unknown, ...said: Said): unknown
  not (actual: unknown, unexpected: unknown, ...said: Said): unknown
  strictSame (actual: unknown, expected: unknown, ...said: Said): unknown
  match (actual: unknown, pattern: unknown, ...said: Said): unknown
  ok (value: unknown, ...said: Said): unknown
  notOk (value: unknown, ...said: Said): unknown
  rejects (promise: Promise<unknown>, pattern: ErrorPattern, ...said: Said): Promise<unknown>
  throws (call: () => unknown, pattern: ErrorPattern, ...said: Said): unknown
}

/** The context of a test of tap. */
export function forTap (t: TapTest): TestContext {
  return {
    async test (name, run, { skip } = {}) {
      await t.test(name, { ...(skip !== undefined && { skip }) }, async inner => { await run(forTap(inner)) })
    },
    teardown (undo) { t.teardown(undo) },
    equal (actual, expected, message) { t.equal(actual, expected, ...said(message)) },
    not (actual, unexpected, message) { t.not(actual, unexpected, ...said(message)) },
    same (actual, expected, message) { t.strictSame(actual, expected, ...said(message)) },
    match (actual, pattern, message) { t.match(actual, pattern, ...said(message)) },
    ok (value, message) { t.ok(value, ...said(message)) },
    notOk (value, message) { t.notOk(value, ...said(message)) },
    async rejects (promise, pattern = any, message) { await t.rejects(promise, pattern, ...said(message)) },
    throws (call, pattern = any, message) { t.throws(call, pattern, ...said(message)) }
  }
}

/** Any error will do. */
const any = /(?:)/

function said (message: string | undefined): Said {
  return message === undefined ? [] : [message]
}
