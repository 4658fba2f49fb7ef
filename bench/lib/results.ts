import type { Goal, Row, Unit } from './benchmark.ts'
import { shown, svgOf, type Plot } from './plot.ts'
import { meets, median, quantile } from './statistics.ts'

/** Where and from what numbers come. */
export interface Origin {
  /** When the benchmark began. */
  at: string
  version: string
  commit: string
  node: string
  machine: { cpu: string, cores: number, memory_bytes: number, system: string }
  /** What sent the requests. */
  generator: string
  /** The machine's load average over the minute before. Numbers of a busy machine are worth less. */
  load_before: number
}

/** What a benchmark found, with the spread of each row. */
export interface Result extends Origin {
  question: string
  seconds: number
  /** Whether the rounds were few and short. */
  quick: boolean
  rows: (Row & { median: number, first_quartile: number, third_quartile: number, met?: boolean })[]
  plots: Plot[]
}

/** By the benchmark's name; each as of when it was last run. */
export type Results = Record<string, Result>

/** A goal that is reached so many times is shown as no more. */
const most = 4

/** The longest line of a page, in characters. */
const columns = 120

/** A row, and what is said of it. */
export function concluded (row: Row): Result['rows'][number] {
  const middle = median(row.values)
  return {
    ...row,
    values: row.values.map(tidy),
    median: tidy(middle),
    first_quartile: tidy(quantile(row.values, 0.25)),
    third_quartile: tidy(quantile(row.values, 0.75)),
    ...(row.goal !== undefined && { met: meets(row.goal, middle) })
  }
}

/** Results as Markdown: where they come from, and a table. `goals`: only rows that have one. */
export function tableOf (results: Results, { goals = false } = {}): string {
  const rows = Object.entries(results)
    .flatMap(([name, { rows }]) => rows.filter(({ goal }) => !goals || goal !== undefined).map(row => {
      const against = row.against === undefined ? '' : ` against ${row.against}`
      const spread = row.values.length > 1 ? ` (${shown(row.first_quartile)}–${shown(row.third_quartile)})` : ''
      const verdict = row.met === undefined ? '' : row.met ? 'met' : '**not met**'
      return `| ${name} | ${row.what}${against} | ${row.goal === undefined ? '' : goalText(row.goal, row.unit)} | ${shown(row.median)} ${row.unit}${spread} | ${verdict} |`
    }))
  const all = Object.values(results).flatMap(({ rows }) => rows).filter(({ met }) => met !== undefined)
  return [
    filled(originText(results)), '',
    `${all.filter(({ met }) => met === true).length} of ${all.length} goals are met. A number is the median of the rounds, with the quartiles.`, '',
    '| benchmark | what, and against what | goal | measured | |',
    '|---|---|---|---|---|',
    ...rows, ''
  ].join('\n')
}

/**
 * What the README says beside its picture: what an execution over HTTP was compared with, and how many goals are not
 * met.
 */
export function summaryOf (results: Results): string {
  const goals = Object.values(results).flatMap(({ rows }) => rows).filter(({ met }) => met !== undefined)
  const rates = results['execute']?.rows.filter(({ what, against }) =>
    what === 'POST /api/execute, deferred, 64 connections' && against !== undefined) ?? []
  const compared = rates.map(({ median, against }) => `${shown(median)} times the rate of ${against}`).join(' and ')
  const missed = goals.filter(({ met }) => met === false).length
  const text = 'With 64 connections and `storage.durability = "deferred"`, on one machine and in one run, '
    + `Skillet reaches ${compared}; the raw server is faster because it runs no tool, `
    + `and ${missed} of ${goals.length} goals are not met.`
  return `${filled(text)}\n`
}

/** Every plot by its file's name: those of the benchmarks, and one of all goals. */
export function plotsOf (results: Results): Map<string, string> {
  const all = [goalsPlot(results), ...Object.values(results).flatMap(({ plots }) => plots)]
  return new Map(all.map(plot => [`${plot.name}.svg`, svgOf(plot)]))
}

/** How far each goal is reached: 1 is just met. */
function goalsPlot (results: Results): Plot {
  const bars = Object.values(results)
    .flatMap(({ rows }) => rows)
    .flatMap(({ what, against, goal, median: value, met }) => {
      if (goal === undefined) return []
      // What has no bottom, such as the growth of memory, is met as far as can be shown once it is nothing.
      const reached = 'at_least' in goal ? value / goal.at_least : value <= 0 ? most : goal.at_most / value
      return [{
        label: against === undefined ? what : `${what} / ${against}`,
        value: Math.min(most, tidy(reached)),
        note: met === true ? 'met' : 'not met',
        apart: met !== true
      }]
    })
  return {
    kind: 'bars',
    name: 'goals',
    title: `How far each goal is reached (1: just met; ${most} and above: shown as ${most})`,
    unit: '',
    bars,
    mark: { label: 'goal', value: 1 }
  }
}

function goalText (goal: Goal, unit: Unit): string {
  const [sign, number] = 'at_least' in goal ? ['≥', goal.at_least] : ['≤', goal.at_most]
  return `${sign} ${shown(number)} ${unit}`
}

function originText (results: Results): string {
  const all = Object.values(results)
  const each = (of: (result: Result) => string): string => [...new Set(all.map(of))].join(' and ')
  const loads = all.map(({ load_before }) => load_before)
  const machines = each(({ machine: { cpu, cores, memory_bytes, system } }) =>
    `${cpu}, ${cores} cores, ${Math.round(memory_bytes / 2 ** 30)} GiB, ${system}`)
  const warning =
    ' **Some rounds were few and short: these numbers show that the suite works, and no more.**'
  return `Measured on ${machines}; Node ${each(({ node }) => node)}; commit ${each(({ commit }) => commit)}; `
    + `${each(({ at }) => at.slice(0, 10))}; requests sent by ${each(({ generator }) => generator)}; `
    + `load average before each benchmark ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`
    + (all.some(({ quick }) => quick) ? warning : '')
}

/** The text in lines that fit a page. */
function filled (text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length > columns) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}

/** Four significant digits are more than any of this is worth. */
function tidy (number: number): number {
  return Number(number.toPrecision(4))
}
