// Counts the tests in the TAP output of node-tap. The line of a test ends with its time; the lines of its subtests come
// before it, indented by four more spaces. Assertions have no time. Of a test with subtests, only the subtests count.

/** Counts tests line by line. */
export class TapCounter {
  /** The number of tests by depth of indentation, counted since the test around them began. */
  #passed = []
  #failed = []

  /** Counts a line. @returns `isTest`: whether the line is about a test; `failed`: whether it reports a failure */
  read (line) {
    const [, indent = '', not] = /^(\s*)(not )?ok \d+/.exec(line) ?? []
    const isResult = /^\s*(?:not )?ok \d+/.test(line)
    const isTest = isResult && /# time=/.test(line)
    if (isTest) this.#end(indent.length / 4, not !== undefined, /# SKIP\b/.test(line))
    return { isTest, failed: isResult && not !== undefined }
  }

  /** The number of tests that have passed so far. */
  get passed () { return this.#passed[0] ?? 0 }
  get failed () { return this.#failed[0] ?? 0 }

  #end (depth, failed, skipped) {
    const [inner, broken] = [this.#passed[depth + 1] ?? 0, this.#failed[depth + 1] ?? 0]
    this.#passed[depth + 1] = this.#failed[depth + 1] = 0
    const alone = inner + broken === 0 && !skipped
    this.#passed[depth] = (this.#passed[depth] ?? 0) + inner + (alone && !failed ? 1 : 0)
    this.#failed[depth] = (this.#failed[depth] ?? 0) + broken + (failed && broken === 0 ? 1 : 0)
  }
}
