export interface Bar {
  label: string
  /** Drawn as 0 where it is less. */
  value: number
  low?: number
  high?: number
  /** Said behind the number; with `apart`, the bar has another colour. */
  note?: string
  apart?: boolean
}

/** A picture of numbers, for a person. */
export type Plot =
  | { kind: 'bars', name: string, title: string, unit: string, bars: Bar[],
    /** Where a mark stands, such as a goal. */
    mark?: { label: string, value: number } }
  | {
    kind: 'lines'
    name: string
    title: string
    x: string
    y: string
    series: { label: string, points: [number, number][] }[]
  }

const width = 1000
const labelWidth = 560
/** Of a label, so many characters fit. */
const labelMax = 86
const barHeight = 22
const step = 32
const top = 44
/** Told apart by colour-blind people, on light and on dark. */
const colours = ['#3b82c4', '#d9822b', '#5a9e5f', '#a86cc1']

/**
 * A plot as SVG: no background of its own, text in the colour that the reader's system calls for, each number also as
 * text.
 */
export function svgOf (plot: Plot): string {
  const { height, body, told } = plot.kind === 'bars' ? bars(plot) : lines(plot)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(plot.title)}</title>
<desc id="description">${escaped(told)}</desc>
<style>text{font:12.5px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}.axis{stroke:#6e7781;fill:none}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.axis{stroke:#9198a1}}</style>
<text class="title" x="8" y="24">${escaped(plot.title)}</text>
${body.join('\n')}
</svg>
`
}

function bars ({ bars, unit, mark }: Plot & { kind: 'bars' }): { height: number, body: string[], told: string } {
  const room = width - labelWidth - 130
  const most = Math.max(...bars.map(({ value, high = value }) => Math.max(value, high)), mark?.value ?? 0) || 1
  const x = (value: number): number => tidy(labelWidth + room * Math.max(0, value) / most)
  const end = top + bars.length * step
  const body = bars.flatMap(({ label, value, low = value, high = value, note = '', apart = false }, i) => {
    const y = top + i * step
    const middle = y + barHeight / 2
    const cut = label.length > labelMax ? `${label.slice(0, labelMax - 1)}…` : label
    return [
      `<text x="${labelWidth - 8}" y="${middle + 4}" text-anchor="end">${escaped(cut)}</text>`,
      `<rect x="${labelWidth}" y="${y}" width="${tidy(x(value) - labelWidth)}" height="${barHeight}" rx="2" fill="${colours[apart ? 1 : 0]}"/>`,
      ...(low < high ? [`<path class="axis" d="M${x(low)} ${middle}H${x(high)}M${x(low)} ${middle - 4}v8M${x(high)} ${middle - 4}v8"/>`] : []),
      `<text x="${x(Math.max(value, high)) + 8}" y="${middle + 4}">${escaped(said(value, unit, note))}</text>`
    ]
  })
  if (mark !== undefined) {
    body.push(
      `<path class="axis" stroke-dasharray="4 3" d="M${x(mark.value)} ${top - 6}V${end}"/>`,
      `<text x="${x(mark.value)}" y="${end + 14}" text-anchor="middle">${escaped(mark.label)}</text>`
    )
  }
  return {
    height: end + 26,
    body,
    told: bars.map(({ label, value, note }) => `${label}: ${said(value, unit, note)}`).join('; ')
  }
}

function lines ({ series, x: across, y: upward }: Plot & {
  kind: 'lines'
}): { height: number, body: string[], told: string } {
  const left = 70
  const bottom = top + 240
  const points = series.flatMap(({ points }) => points)
  const right_value = Math.max(...points.map(([x]) => x)) || 1
  const top_value = Math.max(...points.map(([, y]) => y)) || 1
  const x = (value: number): number => tidy(left + (width - left - 40) * value / right_value)
  const y = (value: number): number => tidy(bottom - 230 * value / top_value)
  const ticks = [0, 0.5, 1].flatMap(share => [
    `<text x="${x(share * right_value)}" y="${bottom + 18}" text-anchor="middle">${shown(share * right_value)}</text>`,
    `<text x="${left - 8}" y="${y(share * top_value) + 4}" text-anchor="end">${shown(share * top_value)}</text>`
  ])
  const body = [
    `<path class="axis" d="M${left} ${top}V${bottom}H${width - 40}"/>`,
    ...ticks,
    `<text x="${(left + width) / 2}" y="${bottom + 38}" text-anchor="middle">${escaped(across)}</text>`,
    `<text x="8" y="${top - 6}">${escaped(upward)}</text>`,
    ...series.flatMap(({ label, points }, i) => [
      `<polyline fill="none" stroke-width="2" stroke="${colours[i % colours.length]}"${i % 2 === 1 ? ' stroke-dasharray="6 3"' : ''} points="${points.map(([a, b]) => `${x(a)},${y(b)}`).join(' ')}"/>`,
      `<rect x="${left + 12 + i * 200}" y="${bottom + 50}" width="12" height="12" fill="${colours[i % colours.length]}"/>`,
      `<text x="${left + 30 + i * 200}" y="${bottom + 61}">${escaped(label)}</text>`
    ])
  ]
  const told = series.map(
    ({ label, points }) => `${label}: ${points.map(([a, b]) => `${shown(a)} → ${shown(b)}`).join(', ')}`
  ).join('; ')
  return { height: bottom + 74, body, told }
}

function said (value: number, unit: string, note = ''): string {
  return [shown(value), unit, note].filter(part => part !== '').join(' ')
}

/** A number as people read it: three significant digits, thousands apart. */
export function shown (value: number): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
  return rounded.toLocaleString('en-US', { maximumFractionDigits: 6 })
}

const tidy = (value: number): number => Math.round(value * 10) / 10

function escaped (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
