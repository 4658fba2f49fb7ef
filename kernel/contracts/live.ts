import { Type, type Static } from 'typebox'
import type { CancelSignal } from '../lib/cancel.ts'
import { Choice, ExecutionError, ExecutionStatus, LOG_LEVELS } from './schemas.ts'

/**
 * The events of executions while they last: what server-sent events, WebSockets and the command line send. Each shape
 * is here once; the AsyncAPI document is derived from it.
 */

const id = Type.String({
  description: 'How far the reader is after this event: sent back as Last-Event-ID or `after`, the events go on behind it'
})
const at = Type.String({ format: 'date-time', description: 'When it happened (ISO 8601 UTC)' })
const of = {
  execution_id: Type.String({ description: 'The execution' }),
  skill_name: Type.String({ description: 'Its skill' }),
  tool_name: Type.String({ description: 'Its tool' })
}
/** Absent where the event is about a subscription to several executions. */
const perhapsOf = {
  execution_id: Type.Optional(of.execution_id),
  skill_name: Type.Optional(of.skill_name),
  tool_name: Type.Optional(of.tool_name)
}

const options = (title: string, description: string) => ({ title, description })

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))
const text = (description: string) => Type.String({ description })

const Missed = Type.Object({
  stdout: count('Characters of standard output; the record of the execution has them when it has ended'),
  stderr: count('Characters of standard error'),
  log: count('Lines of the log'),
  progress: count('Reports of progress'),
  events: count('Events of a subscription to several executions')
}, { title: 'Missed', description: 'How much a reader did not receive, of each kind' })

/** Every event, by its type. */
export const LIVE_EVENTS = {
  transition: Type.Object({
    type: Type.Literal('transition'), id, at, ...of, status: ExecutionStatus
  }, options('TransitionEvent', 'The execution entered a state')),
  stdout: Type.Object({
    type: Type.Literal('stdout'), id, at, ...of,
    text: text('The piece')
  }, options('StdoutEvent', 'The next piece of the output: all pieces together are the `output` of the record')),
  stderr: Type.Object({
    type: Type.Literal('stderr'), id, at, ...of, text: text('The piece')
  }, options('StderrEvent', 'The next piece of what a command wrote to standard error')),
  log: Type.Object({
    type: Type.Literal('log'), id, at, ...of,
    level: Choice(LOG_LEVELS, { title: 'LogLevel', description: 'How serious the line is' }), text: text('The line')
  }, options('LogEvent', 'A line that the tool logged')),
  progress: Type.Object({
    type: Type.Literal('progress'), id, at, ...of,
    done: Type.Number({ description: 'How much is done' }),
    total: Type.Optional(Type.Number({ description: 'How much there is to do, where the tool says so' })),
    message: Type.Optional(text('What the tool does'))
  }, options('ProgressEvent', 'How far the tool is')),
  missed: Type.Object({
    type: Type.Literal('missed'), id, at, ...perhapsOf, missed: Missed
  }, options('MissedEvent', 'Something was dropped before this reader received it')),
  notice: Type.Object({
    type: Type.Literal('notice'), id, at, ...perhapsOf, text: text('The notice')
  }, options('NoticeEvent', 'Something about the stream itself')),
  end: Type.Object({
    type: Type.Literal('end'), id, at, ...of,
    status: ExecutionStatus,
    duration_ms: Type.Integer({ minimum: 0, description: 'Running time in milliseconds' }),
    output_truncated: Type.Boolean({ description: 'Whether the output was cut' }),
    error: Type.Union([ExecutionError, Type.Null()])
  }, options('EndEvent', 'The execution has ended and is in the history; no event of it follows'))
} as const

/** An event of an execution. */
export type LiveEvent =
  { [Name in keyof typeof LIVE_EVENTS]: Static<typeof LIVE_EVENTS[Name]> }[keyof typeof LIVE_EVENTS]

/** Which executions a reader follows. */
export interface LiveFilter {
  /** Only executions of this skill. */
  skill_name?: string
  /** Only executions of tools for which this function returns true: the rights of a key. */
  allows?: (skill_name: string, tool_name: string) => boolean
}

/**
 * Events as they come, in batches that are not empty. It ends after the last event, or when the signal of the call
 * aborts. What the reader does not take is not kept for it: what is dropped meanwhile is named by an event `missed`.
 */
export type LiveReader = AsyncGenerator<readonly LiveEvent[], void, undefined>

/** The events of executions. */
export interface LiveEvents {
  /**
   * The events of an execution from its beginning, or behind the event with the id `after`.
   * @throws SkilletError EXECUTION_NOT_FOUND; INVALID_PARAMETERS when `after` is not an id of an event of the execution
   */
  follow (execution_id: string, after: string | undefined, signal: CancelSignal): Promise<LiveReader>
  /**
   * The events of all executions of this process that fit, from now on, or behind the event with the id `after`.
   * @throws SkilletError INVALID_PARAMETERS when `after` is not an id of an event
   */
  watch (filter: LiveFilter, after: string | undefined, signal: CancelSignal): LiveReader
}
