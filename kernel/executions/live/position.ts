import { SkilletError } from '../../lib/errors.ts'

/**
 * How far a reader of an execution's events is: how much of each stream it has. A number of an event would depend on
 * how the output was divided into pieces. This does not, so a reader can go on with it at the events of a running
 * execution, at its record, and in another process.
 */
export interface Position {
  /** The number of transitions. */
  transitions: number
  /** Characters of standard output, and of standard error. */
  stdout: number
  stderr: number
  /** Lines of the log, and reports of progress. */
  log: number
  progress: number
  /** Whether the reader has the last event. */
  ended: boolean
}

/** The parts of a position that a timeline has entries of. */
export type StreamName = 'stdout' | 'stderr' | 'log' | 'progress'

export function beginning (): Position {
  return { transitions: 0, stdout: 0, stderr: 0, log: 0, progress: 0, ended: false }
}

/** The id of the event after which a reader is at this position. */
export function idOf (execution_id: string, position: Position): string {
  const { transitions, stdout, stderr, log, progress, ended } = position
  return `${markOf(execution_id)}.${transitions}.${stdout}.${stderr}.${log}.${progress}${ended ? '.end' : ''}`
}

const pattern = /^([0-9a-z-]{1,12})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})\.(\d{1,12})(\.end)?$/

/** @throws SkilletError INVALID_PARAMETERS when the text is not an id of an event of the execution */
export function readPosition (execution_id: string, id: string): Position {
  const match = pattern.exec(id)
  if (match === null || match[1] !== markOf(execution_id)) {
    const quoted = id.length > 64 ? `${id.slice(0, 64)}…` : id
    throw new SkilletError(
      'INVALID_PARAMETERS',
      `"${quoted}" is not the id of an event of the execution ${execution_id}; leave it out to begin with its first event`,
      { execution_id }
    )
  }
  const [transitions = 0, stdout = 0, stderr = 0, log = 0, progress = 0] = match.slice(2, 7).map(Number)
  return { transitions, stdout, stderr, log, progress, ended: match[7] !== undefined }
}

/** The part of an id that says which execution the event is of. */
function markOf (execution_id: string): string {
  return execution_id.slice(-12)
}
