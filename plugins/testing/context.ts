/**
 * What the suites need of a test runner: `forNode` and `forTap` make it of theirs. A suite runs its tests within the
 * one it is given, and resolves when they have ended.
 */
export interface TestContext {
  /**
   * Runs a test within this one, after those before it. What fails in it is told to the runner, and the others go on.
   */
  test (name: string, run: (t: TestContext) => Promise<void> | void, options?: { skip?: string }): Promise<void>
  /** Runs when the test has ended, last in, first out. */
  teardown (undo: () => unknown): void
  equal (actual: unknown, expected: unknown, message?: string): void
  not (actual: unknown, unexpected: unknown, message?: string): void
  /** Deeply and strictly equal. */
  same (actual: unknown, expected: unknown, message?: string): void
  /**
   * A text fits a regular expression, or holds a text; an object has these fields at least, each of which fits; other
   * values are equal.
   */
  match (actual: unknown, pattern: unknown, message?: string): void
  ok (value: unknown, message?: string): void
  notOk (value: unknown, message?: string): void
  /** @param pattern what the error fits */
  rejects (promise: Promise<unknown>, pattern?: ErrorPattern, message?: string): Promise<void>
  throws (call: () => unknown, pattern?: ErrorPattern, message?: string): void
}

/** What an error fits: a regular expression its message, an object its fields. */
export type ErrorPattern =
  | RegExp
  | { message: string | RegExp, code?: string }
  | { code: string, message?: string | RegExp }
