import { Type, type Static } from 'typebox'
import { RULE_KEYWORDS } from './parameters.ts'
import { SKILL_NAME, TOOL_NAME } from '../contracts/names.ts'
import { Choice, FROM_CLIENT, PARAMETER_TYPES, type JsonObject } from '../contracts/schemas.ts'
import { ConcurrencyRule, Permissions, RetryPolicy, VARIABLE_NAME } from '../contracts/skill.ts'
import { ToolAnnotations } from '../contracts/tool-annotations.ts'

/** The maximum number of tools of a skill, and of parameters of a tool. */
export const toolsMax = 1000
export const parametersMax = 64

/**
 * The name of a parameter: any text that can be a key in JSON, of limited length. Only `__proto__` is refused, in the
 * code that defines tools.
 */
export const PARAMETER_NAME = /^[\s\S]{0,256}$/

const description = (of: string, max: number) =>
  Type.String({ minLength: 1, maxLength: max, description: `What ${of}` })
const timeout_ms = Type.Integer({ minimum: 1, description: 'Time limit of the tool, in milliseconds' })
const approval = Type.String({
  minLength: 1, maxLength: 2000,
  description: 'Runs only when a person has approved it. The text says what it would do; `{{NAME}}` is a parameter'
})

/** The fields of a parameter that Skillet defines; every other field is a JSON Schema keyword for its value. */
const parameterFields = {
  type: Choice(PARAMETER_TYPES, { description: 'JSON type of the value' }),
  description: description('the parameter means', 2000),
  required: Type.Boolean({ default: false, description: 'Whether a call must give it' }),
  secret: Type.Boolean({ default: false, description: 'Its values are never stored or logged' }),
  allow_dash: Type.Boolean({ default: false, description: 'Its values may begin an argument with `-`' }),
  from_client: Choice(FROM_CLIENT, {
    description: 'An agent\'s client fills it in, never the agent: `answers` to what the tool asked, the `state` that the tool gave when it asked, or the client\'s `capabilities`'
  }),
  mcp_header: Type.String({
    pattern: '^[A-Za-z0-9!#$%&\'*+.^_`|~-]{1,64}$',
    description: 'Clients of MCP over HTTP repeat its values in the header `Mcp-Param-…` of this name, for routers in front of a server'
  })
}

/** Rules for the parameters together: for example, that a parameter needs another, or that one of two is required. */
const rules = Type.Optional(Type.Object(
  Object.fromEntries(RULE_KEYWORDS.map(keyword => [keyword, Type.Optional(Type.Unknown())])),
  {
    additionalProperties: false,
    description: 'JSON Schema keywords for the parameters together: `anyOf`, `if`, `dependentRequired`, `$defs`'
  }
))

/** An argument, or a group of arguments that is left out when a parameter in it is absent. */
export const CommandPart = Type.Cyclic({
  CommandPart: Type.Union([Type.String(), Type.Array(Type.Ref('CommandPart'), { minItems: 1, maxItems: 256 })])
}, 'CommandPart')

const permissions = Type.Optional(Type.Partial(Permissions, { additionalProperties: false }))

/** A tool of a `skill.toml`. */
export type ManifestTool = Static<typeof ManifestTool>
export const ManifestTool = Type.Object({
  name: Type.String({ pattern: TOOL_NAME.source }),
  description: description('the tool does', 2000),
  command: Type.Array(
    CommandPart,
    { minItems: 1, maxItems: 256, description: 'Argument vector with placeholders; never a shell. With runtime = "wasm", its first item is a .wasm file in the folder' }
  ),
  stdin: Type.Optional(Type.String({ description: 'Text with placeholders that feeds standard input' })),
  cwd: Type.Optional(Type.String({ description: 'Working directory; may hold placeholders' })),
  env: Type.Optional(Type.Record(Type.String({ pattern: VARIABLE_NAME.source }), Type.String(), {
    maxProperties: 64,
    additionalProperties: false,
    description: 'Variables set for the command; values may hold placeholders'
  })),
  timeout_ms: Type.Optional(timeout_ms),
  annotations: Type.Optional(ToolAnnotations),
  retry: Type.Optional(RetryPolicy),
  approval: Type.Optional(approval),
  concurrency: Type.Optional(ConcurrencyRule),
  rules,
  parameters: Type.Optional(Type.Array(Type.Object({
    name: Type.String({ pattern: PARAMETER_NAME.source }), ...Type.Partial(Type.Object(parameterFields)).properties,
    type: parameterFields.type, description: parameterFields.description
  }, { additionalProperties: true }), { maxItems: parametersMax }))
}, { additionalProperties: false })

const texts = (pattern: RegExp, what: string) => Type.Optional(Type.Record(
  Type.String({ pattern: pattern.source }),
  Type.String({ maxLength: 8192 }),
  { maxProperties: 64, additionalProperties: false, description: what }
))
const toolNames = (what: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: toolsMax, description: what }))
const withSecrets = '`{{NAME}}` in a value is the secret of that name'

/** The MCP server whose tools are the skill's, in `[mcp]` of a `skill.toml`. */
export type McpServer = Static<typeof McpServer>
export const McpServer = Type.Object({
  command: Type.Optional(Type.Array(
    Type.String({ maxLength: 32_768 }),
    { minItems: 1, maxItems: 256, description: 'Argument vector that starts the server, which speaks on its standard input and output' }
  )),
  env: texts(VARIABLE_NAME, `Variables set for the command; ${withSecrets}`),
  cwd: Type.Optional(Type.String({ description: 'Working directory of the command: absolute, beginning with `~/`, or in the folder; by default the folder' })),
  url: Type.Optional(Type.String({
    pattern: '^https?://', maxLength: 4096, description: `Address of a server elsewhere; ${withSecrets}`
  })),
  headers: texts(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, `Headers sent to that address; ${withSecrets}`),
  include: toolNames('The only tools that serve, by the server\'s names; `*` stands for any text'),
  exclude: toolNames('Tools that do not serve, by the server\'s names; `*` stands for any text'),
  timeout_ms: Type.Optional(timeout_ms),
  start_ms: Type.Optional(Type.Integer({
    minimum: 100, maximum: 600_000, description: 'How long the server may take to answer at its start, in milliseconds; 30000 by default'
  })),
  idle_ms: Type.Optional(Type.Integer({
    minimum: 0, maximum: 86_400_000,
    description: 'How long the server is kept without a call, in milliseconds; 300000 by default'
  }))
}, { additionalProperties: false, description: 'The MCP server of a skill with runtime = "mcp"' })

/** The container in which the tools of a skill run, in `[container]` of a `skill.toml`. */
const Container = Type.Object({
  image: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}$',
    description: 'The image, which must be on the machine: it is never pulled by a call'
  }),
  folder: Type.Optional(Type.String({
    pattern: '^/[^\u0000-\u001f]{1,255}$',
    description: 'Absolute path in the container at which the folder of the skill is mounted, for reading'
  })),
  user: Type.Optional(Type.String({
    pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$',
    description: 'User in the container, perhaps with a group: names of the image, or numbers'
  }))
}, { additionalProperties: false, description: 'The container of a skill with runtime = "container"' })

/** A `skill.toml`. For a script skill it holds the fields that are not code, and no tools. */
export type ManifestFile = Static<typeof ManifestFile>
export const ManifestFile = Type.Object({
  name: Type.Optional(Type.String({ pattern: SKILL_NAME.source, description: 'Equals the folder\'s name' })),
  description: Type.Optional(description('the skill is for', 1024)),
  version: Type.Optional(Type.String({ maxLength: 64 })),
  runtime: Type.Optional(Choice(['native', 'script', 'agent', 'http', 'mcp', 'container', 'wasm'], {
    description: 'native: commands; script: a JavaScript or TypeScript module; agent: an Agent Skills folder; http: a web API, as `skillet import openapi` writes it; mcp: an MCP server; container: commands in a container; wasm: commands in WebAssembly'
  })),
  http: Type.Optional(Type.Unsafe<JsonObject>({
    type: 'object', additionalProperties: true, description: 'runtime = "http": the server and its credentials'
  })),
  reads_files: Type.Optional(Type.Boolean({
    description: 'Its tools read files that callers name: `context.config` has `private_paths`, Skillet\'s own files and folders, which they must refuse'
  })),
  config_from: Type.Optional(Type.String({
    pattern: SKILL_NAME.source,
    description: 'Another skill: of its section `[skills.config.NAME]` is given what the skill\'s own does not set'
  })),
  permissions,
  concurrency: Type.Optional(ConcurrencyRule),
  mcp: Type.Optional(McpServer),
  container: Type.Optional(Container),
  tools: Type.Optional(Type.Array(ManifestTool, { maxItems: toolsMax }))
}, { additionalProperties: false })

/** A `skill.toml` whose tools are not checked yet; each tool is checked separately later. */
export type ManifestFrame = Static<typeof ManifestFrame>
export const ManifestFrame = Type.Object(
  { ...ManifestFile.properties, tools: Type.Optional(Type.Array(Type.Unknown(), { maxItems: toolsMax })) },
  { additionalProperties: false }
)

/** The tools of a script skill's default export, by name, with all their fields except the functions. */
export type ScriptTools = Static<typeof ScriptTools>
export const ScriptTools = Type.Record(Type.String({ pattern: TOOL_NAME.source }), Type.Object({
  description: description('the tool does', 2000),
  timeout_ms: Type.Optional(timeout_ms),
  annotations: Type.Optional(ToolAnnotations),
  retry: Type.Optional(RetryPolicy),
  approval: Type.Optional(approval),
  concurrency: Type.Optional(ConcurrencyRule),
  rules,
  parameters: Type.Optional(Type.Record(Type.String({ pattern: PARAMETER_NAME.source }), Type.Object({
    ...Type.Partial(Type.Object(parameterFields)).properties, type: parameterFields.type,
    description: parameterFields.description
  }, { additionalProperties: true }), { maxProperties: parametersMax, additionalProperties: false }))
}, { additionalProperties: false }), { minProperties: 1, maxProperties: toolsMax, additionalProperties: false })

const scriptFields = {
  description: Type.Optional(description('the skill is for', 1024)),
  version: Type.Optional(Type.String({ maxLength: 64 })),
  permissions,
  concurrency: Type.Optional(ConcurrencyRule)
}

/** The default export of a script skill, without functions. */
export type ScriptFile = Static<typeof ScriptFile>
export const ScriptFile = Type.Object({ ...scriptFields, tools: ScriptTools }, { additionalProperties: false })

/** Like `ScriptFile`, with tools that are not checked yet; each tool is checked separately later. */
export type ScriptFrame = Static<typeof ScriptFrame>
export const ScriptFrame = Type.Object(
  { ...scriptFields, tools: Type.Object({}, { minProperties: 1, maxProperties: toolsMax }) },
  { additionalProperties: false }
)
