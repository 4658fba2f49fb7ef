/**
 * Keeps the numbers with the highest scores; of equal scores, the lowest numbers. It is a heap with the worst number on
 * top, so that most numbers are refused after one comparison.
 */
export class Best {
  readonly #max: number
  readonly #numbers: number[] = []
  readonly #scores: number[] = []

  /** @param max the maximum number of kept numbers, at least 1 */
  constructor (max: number) {
    this.#max = max
  }

  offer (number: number, score: number): void {
    if (this.#numbers.length < this.#max) {
      this.#numbers.push(number)
      this.#scores.push(score)
      for (let at = this.#numbers.length - 1; at > 0;) {
        const above = (at - 1) >> 1
        if (!this.#isWorse(at, above)) return
        this.#swap(at, above)
        at = above
      }
    } else if (this.#beatsWorst(number, score)) {
      this.#numbers[0] = number
      this.#scores[0] = score
      this.#sink()
    }
  }

  /** The kept numbers, the best first. */
  sorted (): number[] {
    const places = this.#numbers.map((_, place) => place).sort((a, b) => this.#isWorse(a, b) ? 1 : -1)
    return places.map(place => this.#numbers[place] ?? 0)
  }

  #sink (): void {
    for (let at = 0; ;) {
      const left = 2 * at + 1
      if (left >= this.#numbers.length) return
      const worse = left + 1 < this.#numbers.length && this.#isWorse(left + 1, left) ? left + 1 : left
      if (!this.#isWorse(worse, at)) return
      this.#swap(worse, at)
      at = worse
    }
  }

  #beatsWorst (number: number, score: number): boolean {
    const worst = this.#scores[0] ?? 0
    return score > worst || (score === worst && number < (this.#numbers[0] ?? 0))
  }

  #isWorse (a: number, b: number): boolean {
    const score = this.#scores[a] ?? 0
    const otherScore = this.#scores[b] ?? 0
    return score < otherScore || (score === otherScore && (this.#numbers[a] ?? 0) > (this.#numbers[b] ?? 0))
  }

  #swap (a: number, b: number): void {
    const number = this.#numbers[a] ?? 0
    const score = this.#scores[a] ?? 0
    this.#numbers[a] = this.#numbers[b] ?? 0
    this.#scores[a] = this.#scores[b] ?? 0
    this.#numbers[b] = number
    this.#scores[b] = score
  }
}
