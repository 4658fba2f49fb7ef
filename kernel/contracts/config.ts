import { Type, type Static } from 'typebox'
import { approvals } from './approval-settings.ts'
import { INSTANCE_NAME, SKILL_NAME } from './names.ts'
import { Choice, CONFINEMENTS, type JsonObject } from './schemas.ts'
import { defineSection, textList } from './section.ts'

const mebibyte = 1_048_576

/** A tool that writes more output than this is stopped, in bytes. */
export const outputBytesStop = 16 * mebibyte

const storage = defineSection('storage', 'The history of executions', {
  durability: Choice(['committed', 'deferred'], {
    default: 'committed',
    description: '"committed" answers after the history is on disk; "deferred" before, and can lose the last milliseconds in a crash'
  }),
  history_executions_max: Type.Integer({
    default: 1_000_000, minimum: 1, description: 'Executions kept; the oldest are pruned'
  }),
  history_days_max: Type.Integer({
    default: 30, minimum: 1, maximum: 36_500, description: 'Days an execution is kept'
  }),
  history_bytes_max: Type.Integer({
    default: 4096 * mebibyte, minimum: 0,
    description: 'Bytes that the kept executions may take up; the oldest are pruned; 0: no limit'
  }),
  idempotency_keys_max: Type.Integer({
    default: 250_000, minimum: 1, maximum: 10_000_000,
    description: 'Idempotency keys that may be remembered at once; beyond it calls with a new key are refused'
  }),
  output_files_bytes_max: Type.Integer({
    default: 1024 * mebibyte, minimum: 0,
    description: 'Bytes that the files of large outputs may take up together; the oldest files are removed'
  })
})

const execution = defineSection('execution', 'Running tools', {
  timeout_ms: Type.Integer({
    default: 30_000, minimum: 1,
    description: 'Time limit of an execution, in milliseconds, where neither tool nor request sets one'
  }),
  timeout_ms_max: Type.Integer({
    default: 600_000, minimum: 1, maximum: 2_147_483_647,
    description: 'Longest time limit a tool or request may set, in milliseconds'
  }),
  output_bytes_max: Type.Integer({
    default: mebibyte, minimum: 1024, maximum: outputBytesStop,
    description: 'Bytes of output kept in the record of an execution; the rest is cut with a note'
  }),
  output_file_bytes_max: Type.Integer({
    default: outputBytesStop, minimum: 0, maximum: outputBytesStop,
    description: 'Bytes of output kept in a file when they are more than the record keeps; 0: no file'
  }),
  handle_bytes_max: Type.Integer({
    default: outputBytesStop, minimum: 0, maximum: 4 * outputBytesStop,
    description: 'Bytes of outputs that the parameters of a call may take from other executions; 0: none'
  }),
  queue_max: Type.Integer({
    default: 10_000, minimum: 1,
    description: 'Executions that may wait; beyond it they are refused at once'
  }),
  asynchronous_max: Type.Integer({
    default: 8, minimum: 1, maximum: 10_000,
    description: 'Asynchronous executions that a process runs at once; the others wait in the order of their priority'
  }),
  queue_ms_max: Type.Integer({
    default: 86_400_000, minimum: 1_000, maximum: 2_592_000_000,
    description: 'How long an asynchronous execution may wait for its start, in milliseconds; a request may set less'
  }),
  idempotency_hours: Type.Integer({
    default: 24, minimum: 1, maximum: 8_760,
    description: 'Hours in which a call with the same idempotency key gives the first result again'
  }),
  heap_bytes_max: Type.Integer({
    default: 256 * mebibyte, minimum: 16 * mebibyte,
    description: 'Memory of a script thread, in bytes: JavaScript heap and buffers together; a tool that needs more fails'
  }),
  drain_ms: Type.Integer({
    default: 10_000, minimum: 0, maximum: 600_000,
    description: 'How long running executions may finish at shutdown, in milliseconds'
  })
})

const isolation = defineSection('isolation', 'How tools are kept apart from the machine', {
  mode: Choice(['auto', 'required', 'off'], {
    default: 'auto',
    description: 'Tools of skills that are not trusted run in a sandbox. "auto": where this machine can confine them; "required": they fail where it can\'t; "off": never, unless a skill demands it'
  }),
  level: Choice(CONFINEMENTS, {
    default: 'sandbox',
    description: 'The isolation that `mode` gives to these skills. "strict": also without the home directory, and each command with processes and temporary files of its own; slower'
  }),
  memory_bytes_max: Type.Integer({
    default: 2048 * mebibyte, minimum: 0, maximum: 2 ** 40,
    description: 'Memory that a confined run may use with all its processes, in bytes; 0: no limit'
  }),
  processes_max: Type.Integer({
    default: 512, minimum: 0, maximum: 100_000,
    description: 'Processes that a confined run may have, threads included; 0: no limit'
  }),
  cpu_ms_max: Type.Integer({
    default: 0, minimum: 0, maximum: 2 ** 31,
    description: 'Time of the processor that a confined run may use with all its processes, in milliseconds; 0: no limit'
  })
})

/** A configuration of a skill, beside others: `[skills.instances.SKILL.INSTANCE]`. */
export type InstanceSettings = Static<typeof InstanceSettings>
const InstanceSettings = Type.Object({
  description: Type.Optional(Type.String({ maxLength: 300, description: 'What this configuration is for' })),
  default: Type.Boolean({ default: false, description: 'Whether a call that names no instance gets this one' }),
  config: Type.Unsafe<JsonObject>({
    type: 'object', default: {}, description: 'Its settings; they win over those of [skills.config.<skill>]'
  })
}, { additionalProperties: false })

/** The most instances that a skill may have. */
const instancesMax = 100

const skills = defineSection('skills', 'Where skills come from', {
  config: Type.Unsafe<Record<string, JsonObject>>({
    type: 'object', default: {}, additionalProperties: { type: 'object' },
    description: 'A skill\'s own settings, each in [skills.config.<name>]'
  }),
  instances: Type.Unsafe<Record<string, Record<string, InstanceSettings>>>({
    type: 'object', default: {}, propertyNames: { pattern: SKILL_NAME.source },
    additionalProperties: {
      type: 'object', maxProperties: instancesMax, propertyNames: { pattern: INSTANCE_NAME.source },
      additionalProperties: InstanceSettings
    },
    description: 'Configurations of a skill, each in [skills.instances.<skill>.<instance>]'
  })
})

/**
 * The settings of the kernel, and those that all plugins of a slot share. Plugins declare further sections; their
 * values are in the same object, and `SectionOf.of` reads them.
 */
export type Config = Static<typeof Config>
export const Config = Type.Object({
  plugins: textList('Further plugins, by package name or path', 'file-or-name'),
  plugin: Type.Unsafe<Record<string, JsonObject>>(Type.Object({}, {
    default: {}, additionalProperties: { type: 'object' }, description: 'Options of plugins, each in [plugin.<name>]'
  })),
  data_dir: Type.String({
    default: '', format: 'directory',
    description: 'Data directory; by default `skillet` under the user\'s data directory'
  }),
  log_level: Choice(['debug', 'info', 'warn', 'error', 'silent'], {
    default: 'info', description: 'Least severe log lines that are written'
  }),
  storage: storage.schema,
  execution: execution.schema,
  approvals: approvals.schema,
  isolation: isolation.schema,
  skills: skills.schema
}, { additionalProperties: false })
