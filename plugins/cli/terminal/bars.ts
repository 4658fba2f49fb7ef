const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** Numbers as bars of text, one character for each number: a space for 0, the highest bar for the highest number. */
export function bars (numbers: readonly number[]): string {
  const highest = Math.max(...numbers, 1)
  return numbers.map(number => {
    const height = Math.min(Math.floor(number / highest * heights.length), heights.length - 1)
    return number <= 0 ? ' ' : heights[height] ?? ''
  }).join('')
}
