import { Type, type Static, type TSchemaOptions } from 'typebox'
import type * as json from '../lib/json.ts'
import { Approval } from './approval.ts'
import { ToolAnnotations } from './tool-annotations.ts'

export type JsonObject = json.JsonObject
export const JsonObject = Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true })

/** An enum of texts. The schema states the type too, because some models and programs that read schemas need it. */
export function Choice<const Values extends readonly string[]> (values: Values, options: TSchemaOptions = {}) {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options })
}

/**
 * The longest name in a request, in characters: longer than every real name, and short enough to be quoted in an error.
 */
const nameAskedMax = 256

export const SkillNameAsked = Type.String({
  minLength: 1, maxLength: nameAskedMax, description: 'Name of the skill, or of an instance of it such as `github@work`'
})
export const ToolNameAsked =
  Type.String({ minLength: 1, maxLength: nameAskedMax, description: 'Name of the tool within its skill' })

export const PARAMETER_TYPES = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const

const parameterFields = Type.Object({
  name: Type.String({ description: 'Name of the parameter' }),
  type: Choice(PARAMETER_TYPES, { title: 'ParameterType', description: 'JSON type of the value' }),
  description: Type.String({ description: 'What the parameter means' }),
  required: Type.Boolean({ description: 'Whether a call must give it' })
}, {
  title: 'Parameter',
  additionalProperties: true,
  description: 'A parameter of a tool; any JSON Schema keyword may stand in it'
})

/** The values that an agent's client can fill in, beside the parameters that the agent sets. */
export const FROM_CLIENT = ['answers', 'state', 'capabilities'] as const

/** A parameter of a tool. It may hold any further JSON Schema keyword. */
export type ParameterDescriptor = Static<typeof parameterFields> & JsonObject
export const ParameterDescriptor = Type.Unsafe<ParameterDescriptor>(parameterFields)

export type Tool = Static<typeof Tool>
export const Tool = Type.Object({
  name: Type.String({ description: 'Tool identifier within its skill' }),
  description: Type.String({ description: 'What the tool does' }),
  parameters: Type.Array(ParameterDescriptor, { description: 'Parameter descriptors, in the order of the manifest' }),
  input_schema: Type.Unsafe<JsonObject>({
    type: 'object',
    additionalProperties: true,
    description: 'JSON Schema (2020-12) of the `parameters` object of a call'
  }),
  timeout_ms: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Time limit of the tool, in milliseconds, where it sets its own' })
  ),
  annotations: Type.Optional(ToolAnnotations)
}, { title: 'Tool', description: 'A tool of a skill' })

export const InstanceSummary = Type.Object({
  name: Type.String({ description: 'What a call names as its skill, such as `github@work`' }),
  description: Type.Optional(Type.String({ description: 'What this configuration is for' })),
  default: Type.Optional(Type.Boolean({ description: 'Whether a call that names no instance gets this one' }))
}, { title: 'SkillInstance', description: 'A configuration of a skill, with settings and secrets of its own' })

export type Skill = Static<typeof Skill>
export const Skill = Type.Object({
  name: Type.String({ description: 'Skill identifier' }),
  description: Type.String({ description: 'What the skill is for' }),
  version: Type.Optional(Type.String({ description: 'Version of the skill, where it states one' })),
  runtime: Type.String({
    description: 'How its tools run: native (commands), script (JavaScript and TypeScript), agent (an Agent Skills folder: files to read, scripts to run), http (a web API), mcp (the tools of an MCP server), container (commands in a container) or wasm (commands in WebAssembly)'
  }),
  instances: Type.Optional(Type.Array(InstanceSummary, { description: 'Its configurations, where it has several' })),
  tools: Type.Array(Tool)
}, { title: 'Skill', description: 'A named bundle of tools' })

export const EXECUTION_STATUSES = [
  'queued', 'waiting', 'running', 'success', 'failed', 'timeout', 'cancelled', 'interrupted'
] as const
export type ExecutionStatus = typeof EXECUTION_STATUSES[number]
export const ExecutionStatus =
  Choice(EXECUTION_STATUSES, { title: 'ExecutionStatus', description: 'State of the execution' })

/** The levels that keep a tool from the machine, from the weakest to the strongest. */
export const CONFINEMENTS = ['sandbox', 'strict'] as const
export type Confinement = typeof CONFINEMENTS[number]

/** The levels of log lines, from the least serious. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = typeof LOG_LEVELS[number]

export const ISOLATIONS = ['none', 'thread', 'process', 'container', ...CONFINEMENTS] as const
/** The isolation in which a run really took place. */
export type Isolation = typeof ISOLATIONS[number]


/** A time as ISO 8601, in UTC, with milliseconds. */
export const Timestamp = (description: string) => Type.String({ format: 'date-time', description })
const ExecutionId = Type.String({ description: 'Execution identifier (UUIDv7)' })

/** A state that an execution entered, and the time. */
const Transition = Type.Object(
  { status: ExecutionStatus, at: Timestamp('When the state was entered') },
  { title: 'Transition', description: 'A state that an execution entered' }
)

const summary = {
  id: ExecutionId,
  skill_name: Type.String({ description: 'The skill, or the instance that ran, such as `github@work`' }),
  tool_name: Type.String(),
  status: ExecutionStatus,
  created_at: Timestamp('When the execution was accepted (ISO 8601 UTC)'),
  duration_ms: Type.Integer({ minimum: 0, description: 'Running time in milliseconds; 0 until it ends' })
}

/** The fields of an execution in a list. */
export type ExecutionSummary = Static<typeof ExecutionSummary>
export const ExecutionSummary =
  Type.Object(summary, { title: 'ExecutionSummary', description: 'An execution as a list shows it' })

export type ExecutionError = Static<typeof ExecutionError>
export const ExecutionError = Type.Object({
  code: Type.String({ description: 'Error code' }),
  message: Type.String(),
  details: JsonObject
}, { title: 'ExecutionError', description: 'Why an execution did not succeed' })

/** How an asynchronous execution waits for its start. */
export type QueuedRun = Static<typeof QueuedRun>
export const QueuedRun = Type.Object({
  priority: Type.Integer({ description: 'Higher ones start first' }),
  expires_at: Timestamp('When it ends as `timeout` if it has not started'),
  timeout_ms: Type.Integer({ description: 'Its time limit once it runs, in milliseconds' }),
  resumable: Type.Boolean({
    description: 'Whether another process can start it from this record: its parameters have no secrets'
  }),
  handed_over_at: Type.Union([Timestamp('When it left the queue'), Type.Null()], {
    description: 'When it left the queue for its executor. Until then it has surely not begun, and a crash loses nothing'
  })
}, { title: 'QueuedRun', description: 'How an asynchronous execution waits for its start' })

/** What an execution has in common with others of which only some go on at once. */
export type ConcurrencyUse = Static<typeof ConcurrencyUse>
export const ConcurrencyUse = Type.Object({
  key: Type.String({ description: 'What it has in common with them: the key of its tool or skill, filled in' }),
  limit: Type.Integer({ minimum: 1, description: 'How many of them go on at once' }),
  waited_ms: Type.Optional(Type.Integer({
    minimum: 0, description: 'How long it waited for others to end, in milliseconds; absent where it did not, or waits still'
  }))
}, { title: 'ConcurrencyUse', description: 'How its tool or skill limits how many executions go on at once' })

/** An attempt of a tool that is run again after a failure. */
export type Attempt = Static<typeof Attempt>
export const Attempt = Type.Object({
  began_at: Timestamp('When the attempt began'),
  ended_at: Timestamp('When it ended'),
  status: Choice(
    ['success', 'failed', 'timeout', 'cancelled'], { title: 'AttemptStatus', description: 'How it ended' }
  ),
  message: Type.Optional(Type.String({ description: 'Why it failed' }))
}, { title: 'Attempt', description: 'An attempt to run a tool that may be repeated' })
/** What a tool wrote or reported while it ran, and when. */
export type TimelineEntry = Static<typeof TimelineEntry>
export const TimelineEntry = Type.Object({
  after_ms: Type.Integer({ minimum: 0, description: 'When, in milliseconds after `created_at`' }),
  stream: Choice(['stdout', 'stderr', 'log', 'progress'], { title: 'Stream', description: 'What it belongs to' }),
  from: Type.Integer({
    minimum: 0,
    description: 'What came before it in the same stream: characters of stdout and stderr, lines of the log, reports of progress'
  }),
  length: Type.Optional(Type.Integer({ minimum: 0, description: 'For stdout: how many characters of `output` it is' })),
  text: Type.Optional(Type.String({ description: 'The text, for stderr and log' })),
  level: Type.Optional(Choice(LOG_LEVELS, { title: 'LogLevel', description: 'How serious the line is' })),
  done: Type.Optional(Type.Number({ description: 'How much is done' })),
  total: Type.Optional(Type.Number({ description: 'How much there is to do' })),
  message: Type.Optional(Type.String({ description: 'What the tool does' }))
}, { title: 'TimelineEntry', description: 'Something that a tool wrote or reported' })

/** The whole record of an execution. */
export type Execution = Static<typeof Execution>
export const Execution = Type.Object({
  ...summary,
  runtime: Type.String(),
  started_at: Type.Union([Timestamp('When it began to run'), Type.Null()]),
  finished_at: Type.Union([Timestamp('When it ended'), Type.Null()]),
  parameters: Type.Unsafe<JsonObject>({
    type: 'object',
    additionalProperties: true,
    description: 'Parameters of the call; values of secret ones are replaced by "[secret]"'
  }),
  output: Type.String({ description: 'Output of the tool' }),
  output_truncated: Type.Boolean({ description: 'Whether the output was cut at `execution.output_bytes_max`' }),
  error: Type.Union([ExecutionError, Type.Null()]),
  transitions: Type.Array(Transition),
  transport: Type.String({ description: 'How the call came in: the name of a transport, such as http, mcp or cli' }),
  key: Type.Union([Type.String(), Type.Null()], {
    description: 'Name of the API key it was called with; null without one'
  }),
  isolation: Type.Union(
    [Choice(ISOLATIONS, { title: 'Isolation', description: 'Where a run takes place' }), Type.Null()],
    { description: 'What isolation the run was really given; null before it began' }
  ),
  queue: Type.Optional(QueuedRun),
  approvals: Type.Optional(
    Type.Array(Approval, { description: 'What was asked of people before or while it ran, and what they decided' })
  ),
  concurrency: Type.Optional(ConcurrencyUse),
  attempts: Type.Optional(Type.Array(Attempt, { description: 'Its attempts, where the tool declares `retry`' })),
  origin: Type.Optional(Type.String({ description: 'The execution that this one repeats' })),
  output_file_bytes: Type.Optional(Type.Integer({
    minimum: 1, description: 'Bytes of the whole output, where a file has it and `output` only its beginning'
  })),
  timeline: Type.Optional(Type.Array(TimelineEntry, {
    description: 'What the tool wrote and reported, in order, with times. Where there is too much, its end; absent where there is nothing'
  }))
}, { title: 'Execution', description: 'The record of an execution' })

/** The result of `execute`. */
export type ExecuteResult = Static<typeof ExecuteResult>
export const ExecuteResult = Type.Object({
  execution_id: ExecutionId,
  status: ExecutionStatus,
  output: Type.String({ description: 'Output of the tool; a string even when it holds serialized JSON' }),
  duration_ms: Type.Integer({ minimum: 0, description: 'Running time in milliseconds' })
}, { title: 'ExecuteResult', description: 'Result of an execution' })

export type SearchResult = Static<typeof SearchResult>
export const SearchResult = Type.Object({
  skill_name: Type.String(),
  tool_name: Type.String(),
  description: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Relevance; higher is better' }),
  instances: Type.Optional(Type.Array(Type.String(), {
    description: 'The names that a call can use as its skill, where the skill has instances: `github@work`'
  }))
}, { title: 'SearchResult', description: 'A tool that fits a query' })
