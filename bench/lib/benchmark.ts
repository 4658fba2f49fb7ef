import type { Plot } from './plot.ts'

/** What a number is. `×` is a ratio of two things measured in one run. */
export type Unit = '×' | 'ms' | 'µs' | 'MB' | 'of 1'

/** What must hold of a row's median. */
export type Goal = { at_least: number } | { at_most: number }

/** One thing that was measured, against another where `unit` is a ratio. */
export interface Row {
  /** What was measured: `POST /api/execute, deferred, 64 connections`. */
  what: string
  /** What it is compared with; absent where the number stands for itself. */
  against?: string
  unit: Unit
  /** The number of each round, or of each try. */
  values: number[]
  goal?: Goal
  /** Absolute numbers behind it, by name with unit: `requests_per_second`. Those of the peer begin with `peer_`. */
  details?: Record<string, number>
}

export interface Found {
  rows: Row[]
  plots?: Plot[]
}

export interface Options {
  /** Few, short rounds: shows that it works, and no more. */
  quick: boolean
}

/** One question, and how it is answered. The default export of each `bench/*.bench.ts`. */
export interface Benchmark {
  question: string
  /** After so long it is ended, and all that it started. */
  limit_s: number
  run (options: Options): Promise<Found>
}

export const benchmark = (definition: Benchmark): Benchmark => definition

/** Rounds, and seconds of load in each. */
export function roundsOf ({ quick }: Options): { rounds: number, seconds: number } {
  return quick ? { rounds: 2, seconds: 0.5 } : { rounds: 5, seconds: 3 }
}
