// Counts the tests in TAP as node-tap writes it: a line of a test ends with its time, and those within it stand before
// it, indented by four more spaces. Assertions have no time. A test with tests in it counts as these.

/** Counts tests line by line. */
export class TapCounter {
  /** By indentation, the tests that have ended since the one around them began. */
  #passed = []
  #failed = []

  /** @returns whether the line is one of a test, and whether it failed: `{ isTest, failed }` */
  read (line) {
    const [, indent = '', not] = /^(\s*)(not )?ok \d+/.exec(line) ?? []
    const isResult = /^\s*(?:not )?ok \d+/.test(line)
    const isTest = isResult && /# time=/.test(line)
    if (isTest) this.#end(indent.length / 4, not !== undefined, /# SKIP\b/.test(line))
    return { isTest, failed: isResult && not !== undefined }
  }

  /** So far. */
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
