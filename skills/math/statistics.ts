/** What is told about numbers. `numbers` is not empty. */
export function statistics (numbers: readonly number[], percentiles: readonly number[]): object {
  const sorted = Float64Array.from(numbers).sort()
  const count = sorted.length
  const sum = sumOf(sorted)
  const mean = sum / count
  const squares = sumOf(sorted.map(value => (value - mean) ** 2))
  const at = (percent: number): number => quantile(sorted, percent / 100)
  return {
    count,
    sum,
    mean,
    median: at(50),
    min: at(0),
    max: at(100),
    mode: modesOf(sorted),
    ...(count > 1 && { variance: squares / (count - 1), standard_deviation: Math.sqrt(squares / (count - 1)) }),
    population_variance: squares / count,
    population_standard_deviation: Math.sqrt(squares / count),
    percentiles: Object.fromEntries(percentiles.map(percent => [percent, at(percent)]))
  }
}

/** Neumaier's sum: what is lost in each addition is kept and added at the end. */
export function sumOf (numbers: Iterable<number>): number {
  let sum = 0
  let lost = 0
  for (const value of numbers) {
    const next = sum + value
    lost += Math.abs(sum) >= Math.abs(value) ? (sum - next) + value : (value - next) + sum
    sum = next
  }
  return Number.isFinite(lost) ? sum + lost : sum
}

/** Between two values, linearly (type 7, as spreadsheets and NumPy do). */
function quantile (sorted: Float64Array, part: number): number {
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below === above ? below : below + (above - below) * (place - Math.floor(place))
}

/** The most frequent values; none when each is there once. */
function modesOf (sorted: Float64Array): number[] {
  const counts = new Map<number, number>()
  let most = 1
  for (const value of sorted) {
    const count = (counts.get(value) ?? 0) + 1
    counts.set(value, count)
    most = Math.max(most, count)
  }
  return most === 1 ? [] : [...counts].filter(([, count]) => count === most).map(([value]) => value)
}
