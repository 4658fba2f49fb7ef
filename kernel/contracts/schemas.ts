import { Type, type Static, type TSchemaOptions } from 'typebox'
import type * as json from '../lib/json.ts'

export type JsonObject = json.JsonObject
export const JsonObject = Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true })

/** An enum of texts. The schema states the type too, because some models and programs that read schemas need it. */
export function Choice<const Values extends readonly string[]> (values: Values, options: TSchemaOptions = {}) {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options })
}

/**
 * The skill names that a manifest may declare. A request may name any string; for an unknown name the answer is that
 * the skill does not exist.
 */
export const SKILL_NAME = /^[a-z0-9-]{1,64}$/
/** The tool names that a manifest may declare. */
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * The longest name in a request, in characters: longer than every real name, and short enough to be quoted in an error.
 */
const nameAskedMax = 256

export const SkillNameAsked = Type.String({ minLength: 1, maxLength: nameAskedMax, description: 'Name of the skill' })
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
  )
}, { title: 'Tool', description: 'A tool of a skill' })

export type Skill = Static<typeof Skill>
export const Skill = Type.Object({
  name: Type.String({ description: 'Skill identifier' }),
  description: Type.String({ description: 'What the skill is for' }),
  version: Type.Optional(Type.String({ description: 'Version of the skill, where it states one' })),
  runtime: Type.String({
    description: 'How its tools run: native (commands), script (JavaScript and TypeScript), agent (an Agent Skills folder: files to read, scripts to run), http (a web API) or mcp (the tools of an MCP server)'
  }),
  tools: Type.Array(Tool)
}, { title: 'Skill', description: 'A named bundle of tools' })

export const EXECUTION_STATUSES = [
  'queued', 'running', 'success', 'failed', 'timeout', 'cancelled', 'interrupted'
] as const
export type ExecutionStatus = typeof EXECUTION_STATUSES[number]
export const ExecutionStatus =
  Choice(EXECUTION_STATUSES, { title: 'ExecutionStatus', description: 'State of the execution' })

/** The levels that keep a tool from the machine, from the weakest to the strongest. */
export const CONFINEMENTS = ['sandbox', 'strict'] as const
export type Confinement = typeof CONFINEMENTS[number]

export const ISOLATIONS = ['none', 'thread', 'process', ...CONFINEMENTS] as const
/** The isolation in which a run really took place. */
export type Isolation = typeof ISOLATIONS[number]


/** A time as ISO 8601, in UTC, with milliseconds. */
const Timestamp = (description: string) => Type.String({ format: 'date-time', description })
const ExecutionId = Type.String({ description: 'Execution identifier (UUIDv7)' })

/** A state that an execution entered, and the time. */
const Transition = Type.Object(
  { status: ExecutionStatus, at: Timestamp('When the state was entered') },
  { title: 'Transition', description: 'A state that an execution entered' }
)

const summary = {
  id: ExecutionId,
  skill_name: Type.String(),
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
  )
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
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Relevance; higher is better' })
}, { title: 'SearchResult', description: 'A tool that fits a query' })

/** The states of a supervised plugin. */
export const PLUGIN_STATES = ['starting', 'ready', 'degraded', 'stopping', 'stopped', 'failed'] as const
export type PluginState = typeof PLUGIN_STATES[number]

export type PluginStatus = Static<typeof PluginStatus>
export const PluginStatus = Type.Object({
  name: Type.String(),
  state: Choice(PLUGIN_STATES, { title: 'PluginState', description: 'State of a plugin' }),
  reason: Type.Optional(Type.String({ description: 'Why it is not well' })),
  warning: Type.Optional(Type.String({ description: 'What it can\'t promise here, though it is well' }))
}, { title: 'PluginStatus', description: 'State of a plugin' })

/** The state of a search. */
export type SearchState = Static<typeof SearchState>
export const SearchState = Type.Object({
  mode: Type.String({ description: 'The method that serves now, as in the answers' }),
  model: Choice(['none', 'idle', 'loading', 'indexing', 'ready', 'failed'], {
    title: 'ModelState',
    description: 'What the model that compares meanings does: there is none, it waits for the first search, it is loaded, it embeds tools, it serves, it can\'t serve'
  }),
  indexed: Type.Integer({ minimum: 0, description: 'Tools that are embedded' }),
  total: Type.Integer({ minimum: 0, description: 'Tools that can be found' })
}, { title: 'SearchState', description: 'How far the search is' })

/** The kind of a fault or a warning that is about the trust of a skill. */
const SkillTrust = Choice(['changed', 'none'], {
  title: 'SkillTrust',
  description: 'Where it is about trust: the files of the skill `changed` since the user trusted them, or there are `none` that were trusted'
})

/** A skill that could not be loaded, or a tool that could not be loaded while the other tools of its skill work. */
export type QuarantinedSkill = Static<typeof QuarantinedSkill>
export const QuarantinedSkill = Type.Object({
  name: Type.String({ description: 'Name of the skill folder' }),
  tool: Type.Optional(Type.String({ description: 'Name of the tool, where the others of its skill serve' })),
  path: Type.String({ description: 'The file or folder at fault' }),
  error: Type.String({ description: 'What is wrong with it' }),
  serving: Type.Optional(Type.Boolean({ description: 'Whether the last version without a fault goes on serving' })),
  trust: Type.Optional(SkillTrust)
}, { title: 'QuarantinedSkill', description: 'A skill, or a tool of one, that could not be loaded' })

/** A warning about a skill that works nevertheless. */
export type SkillWarning = Static<typeof SkillWarning>
export const SkillWarning = Type.Object({
  name: Type.String({ description: 'Name of the skill' }),
  path: Type.String({ description: 'The file or folder it is about' }),
  warning: Type.String({ description: 'What is odd about it' }),
  trust: Type.Optional(SkillTrust)
}, { title: 'SkillWarning', description: 'Something odd about a skill that serves all the same' })
