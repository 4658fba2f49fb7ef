import { availableParallelism } from 'node:os'
import { Type, type Static, type TObject } from 'typebox'
import { ACCESS_PATTERN } from './access.ts'
import { KeyTable } from './key-settings.ts'
import { Choice, type JsonObject } from './schemas.ts'

const section = <P extends TObject['properties']>(description: string, properties: P) =>
  Type.Object(properties, { description, default: {}, additionalProperties: false })

const list = (description: string) => Type.Array(Type.String(), { default: [], maxItems: 1000, description })
const mebibyte = 1_048_576

/**
 * The schema of all settings: types, default values, bounds and descriptions. Flags (`--server-port`), environment
 * variables (`SKILLET_SERVER_PORT`), the sections of the file and the documentation are derived from it.
 */
export type Config = Static<typeof Config>
export const Config = Type.Object({
  plugins: list('Further plugins, by package name or path'),
  plugin: Type.Unsafe<Record<string, JsonObject>>({
    type: 'object', default: {}, additionalProperties: { type: 'object' }, description: 'Options of further plugins, each in [plugin.<name>]'
  }),
  data_dir: Type.String({ default: '', description: 'Data directory; by default `skillet` under the user\'s data directory' }),
  log_level: Choice(['debug', 'info', 'warn', 'error', 'silent'], { default: 'info', description: 'Least severe log lines that are written' }),
  server: section('The HTTP server', {
    host: Type.String({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on' }),
    port: Type.Integer({ default: 3000, minimum: 0, maximum: 65_535, description: 'Port to listen on; 0 picks a free one' }),
    auth_required: Type.Boolean({ default: false, description: 'Requests need an API key: a named one, or the one in SERVICE_API_KEY' }),
    allow_insecure: Type.Boolean({ default: false, description: 'Allow a non-loopback host without authentication' }),
    allowed_hosts: list('Host names accepted beyond the server\'s own addresses and localhost'),
    cors_origins: Type.Array(Type.String(), { default: ['local'], maxItems: 1000, description: 'Origins that may call from a web page; "local": any port of localhost, 127.0.0.1 and [::1]' }),
    rate_limit_per_minute: Type.Integer({ default: 1000, minimum: 0, description: 'Requests per minute of a key, or of an address without one; 0: no limit' }),
    rate_limit_per_hour: Type.Integer({ default: 10_000, minimum: 0, description: 'Requests per hour, likewise' }),
    failed_auth_limit_per_minute: Type.Integer({ default: 30, minimum: 0, description: 'Requests with a wrong API key per minute of an address; 0: no limit' }),
    trusted_proxies: list('Addresses or ranges (CIDR) of proxies whose X-Forwarded-For is believed'),
    keys: KeyTable,
    body_bytes_max: Type.Integer({ default: mebibyte, minimum: 1024, maximum: 64 * mebibyte, description: 'Largest request body, in bytes' }),
    bodies_bytes_max: Type.Integer({ default: 64 * mebibyte, minimum: 1024, description: 'Bytes of request bodies held at once, those of running calls included; beyond it requests are refused' }),
    body_timeout_ms: Type.Integer({ default: 30_000, minimum: 100, maximum: 600_000, description: 'How long a request body may take to arrive, in milliseconds' })
  }),
  storage: section('The history of executions', {
    durability: Choice(['committed', 'deferred'], { default: 'committed', description: '"committed" answers after the history is on disk; "deferred" before, and can lose the last milliseconds in a crash' }),
    history_executions_max: Type.Integer({ default: 1_000_000, minimum: 1, description: 'Executions kept; the oldest are pruned' }),
    history_days_max: Type.Integer({ default: 30, minimum: 1, maximum: 36_500, description: 'Days an execution is kept' }),
    history_bytes_max: Type.Integer({ default: 4096 * mebibyte, minimum: 0, description: 'Bytes that the kept executions may take up; the oldest are pruned; 0: no limit' })
  }),
  execution: section('Running tools', {
    timeout_ms: Type.Integer({ default: 30_000, minimum: 1, description: 'Time limit of an execution, in milliseconds, where neither tool nor request sets one' }),
    timeout_ms_max: Type.Integer({ default: 600_000, minimum: 1, maximum: 2_147_483_647, description: 'Longest time limit a tool or request may set, in milliseconds' }),
    output_bytes_max: Type.Integer({ default: mebibyte, minimum: 1024, maximum: 16 * mebibyte, description: 'Bytes of output kept; the rest is cut with a note' }),
    queue_max: Type.Integer({ default: 10_000, minimum: 1, description: 'Executions that may wait; beyond it they are refused at once' }),
    processes: Type.Integer({ default: 0, minimum: 0, maximum: 1024, description: 'Native tools that run at once; 0: four per core' }),
    threads: Type.Integer({ default: 0, minimum: 0, maximum: 256, description: 'Script tools that compute at once; 0: one per core' }),
    heap_bytes_max: Type.Integer({ default: 256 * mebibyte, minimum: 16 * mebibyte, description: 'Memory of a script thread, in bytes: JavaScript heap and buffers together; a tool that needs more fails' }),
    drain_ms: Type.Integer({ default: 10_000, minimum: 0, maximum: 600_000, description: 'How long running executions may finish at shutdown, in milliseconds' })
  }),
  search: section('Finding tools', {
    model: Type.String({ default: '', description: 'The model that compares meanings: a folder, or a name on the Hugging Face hub; by default the bundled one; "none": words alone' }),
    preload: Type.Boolean({ default: false, description: 'Load the model at the start, not at the first search' }),
    allow_download: Type.Boolean({ default: false, description: 'Download the model that search.model names, where it is not there yet' })
  }),
  mcp: section('Agents, by the Model Context Protocol', {
    expose: Type.Array(Type.String({ pattern: ACCESS_PATTERN.source }), { default: [], maxItems: 1000, description: 'Tools shown as tools of their own beside the three: "git", "git:log", "git:*-status"' }),
    prompts: Type.Array(Type.String({ pattern: ACCESS_PATTERN.source }), { default: [], maxItems: 1000, description: 'Tools shown as prompts, likewise: their output is what is said to the model' }),
    resources: Type.Unsafe<Record<string, string>>({
      type: 'object', default: {}, maxProperties: 1000, propertyNames: { pattern: '^[a-z][a-z0-9+.-]*://\\S+$' }, additionalProperties: { type: 'string', pattern: '^[a-z0-9-]{1,64}:[A-Za-z0-9_.-]{1,64}$' },
      description: 'Tools shown as resources, by their address, whose {names} are the tool\'s parameters: "git://{ref}/log" = "git:log"'
    })
  }),
  skills: section('Where skills come from', {
    bundled: Type.Boolean({ default: true, description: 'Serve the bundled skills' }),
    directories: list('Directories of skill folders; later ones shadow earlier ones'),
    trusted: list('Directories whose script skills are trusted'),
    config: Type.Unsafe<Record<string, JsonObject>>({
      type: 'object', default: {}, additionalProperties: { type: 'object' }, description: 'A skill\'s own settings, each in [skills.config.<name>]'
    })
  })
}, { additionalProperties: false })

/** A tool that writes more output than this is stopped, in bytes. */
export const outputBytesStop = 16 * mebibyte

/** The number of script tools that compute at the same time. */
export function threadsOf (config: Config): number {
  return config.execution.threads || availableParallelism()
}

/** The number of native tools that run at the same time. */
export function processesOf (config: Config): number {
  return config.execution.processes || 4 * availableParallelism()
}
