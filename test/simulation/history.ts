import * as fc from 'fast-check'
import type { Happening } from './executor.ts'
import type { Fate } from './storage.ts'

/**
 * A step of a history. Living processes, operations, runs and executions are given as a number, which counts modulo how
 * many there are at that moment; a step without a subject does nothing. So each part of a history is a history.
 */
export type Step =
  /** A client asks a process to execute. `known`: it learns the id before the end. `gone`: it does not wait. */
  | { do: 'execute', process: number, known: boolean, gone: boolean }
  /** A client asks a process for an asynchronous run, which may wait so long. `asks`: it has to be approved. */
  | { do: 'submit', process: number, priority: number, queue_ms: number, asks: boolean }
  /** A person decides, in a process, on an execution that waits for an approval. */
  | { do: 'decide', process: number, which: number, approve: boolean }
  /** A client asks a process for a run with one of a few keys. */
  | { do: 'once', process: number, key: number, asynchronous: boolean }
  /** A client asks a process to cancel an execution, of this or another process. */
  | { do: 'cancel', process: number, which: number }
  /** A client that waits for an execution goes away. */
  | { do: 'leave', which: number }
  /** An operation that a storage has begun goes on. */
  | { do: 'storage', process: number, which: number, fate: Fate }
  /** Something happens to a run in an executor. */
  | { do: 'run', process: number, which: number, happening: Happening }
  | { do: 'advance', ms: number }
  /** A process dies, and `kept` of its records that wait for a commit are on the disk nevertheless. */
  | { do: 'crash', process: number, kept: number }
  /** A process begins in a place without one, or with one that has drained. */
  | { do: 'start', place: number }
  /** A process is asked to stop. */
  | { do: 'drain', process: number }

/** A history: the settings, and the steps. */
export interface History {
  durability: 'committed' | 'deferred'
  queue_max: number
  pending_max: number
  drain_ms: number
  /** Whether transitions are listened to, by the place of the process. */
  listens: boolean[]
  /** Each step, and whether the next one comes in the same turn of the event loop. */
  steps: { step: Step, sameTurn: boolean }[]
}

/** How many processes there are at most at once. */
export const processesMax = 3

const which = fc.nat({ max: 20 })
const process = fc.nat({ max: processesMax - 1 })

const part = fc.record({ how: fc.constant('part' as const), records: fc.integer({ min: 1, max: 4 }) })

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ how: 'succeed' }) },
  { weight: 2, arbitrary: part },
  { weight: 1, arbitrary: fc.constant({ how: 'fail' }) },
  { weight: 1, arbitrary: fc.constant({ how: 'stall' }) }
)

const happening = fc.constantFrom<Happening>(
  'start', 'start', 'start', 'start unreported', 'success', 'success', 'success', 'failed', 'timeout', 'reject',
  'success without start', 'timeout without start', 'start again', 'lose'
)

const day_ms = 86_400_000

/** True for one in ten. */
const rarely = fc.nat({ max: 9 }).map(number => number === 9)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 24, arbitrary: fc.record({ do: fc.constant('execute'), process, known: fc.boolean(), gone: rarely }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('submit'), process, priority: fc.nat({ max: 1 }),
      queue_ms: fc.constantFrom(3_000, day_ms, day_ms), asks: fc.boolean()
    })
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('once'), process, key: fc.nat({ max: 2 }), asynchronous: fc.boolean() })
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('cancel'), process, which }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('decide'), process, which, approve: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('leave'), which }) },
  { weight: 28, arbitrary: fc.record({ do: fc.constant('storage'), process, which, fate }) },
  { weight: 24, arbitrary: fc.record({ do: fc.constant('run'), process, which, happening }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(1, 21, 100, 1_000, 5_000) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('crash'), process, kept: fc.nat({ max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start'), place: process }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drain'), process }) }
)

export const history: fc.Arbitrary<History> = fc.record({
  durability: fc.constantFrom('committed', 'committed', 'deferred'),
  queue_max: fc.integer({ min: 1, max: 6 }),
  pending_max: fc.constantFrom(1_000, 1_000, 6),
  drain_ms: fc.constantFrom(0, 500),
  listens: fc.array(fc.boolean(), { minLength: processesMax, maxLength: processesMax }),
  steps: fc.array(fc.record({ step, sameTurn: rarely }), { maxLength: 80, size: 'max' })
})
