import { Type, type Static } from 'typebox'
import { ACCESS_PATTERN, defineSection } from '../../kernel/index.ts'

const toolPatterns = (description: string) =>
  Type.Array(Type.String({ pattern: ACCESS_PATTERN.source }), { default: [], maxItems: 1000, description })

const toolName = '[a-z0-9-]{1,64}:[A-Za-z0-9_.-]{1,64}'

export type McpSettings = Static<typeof mcpSection.schema>
export const mcpSection = defineSection('mcp', 'Agents, by the Model Context Protocol', {
  expose: toolPatterns('Tools shown as tools of their own beside those for agents: "git", "git:log", "git:*-status"'),
  prompts: toolPatterns('Tools shown as prompts, likewise: their output is what is said to the model'),
  resources: Type.Unsafe<Record<string, string>>({
    type: 'object', default: {}, maxProperties: 1000,
    propertyNames: { pattern: '^[a-z][a-z0-9+.-]*://\\S+$' },
    additionalProperties: { type: 'string', pattern: `^${toolName}$` },
    description: 'Tools shown as resources, by their address, whose {names} are the tool\'s parameters: "git://{ref}/log" = "git:log"'
  }),
  names: Type.Unsafe<Record<string, string>>({
    type: 'object', default: {}, maxProperties: 1000,
    propertyNames: { pattern: '^[A-Za-z0-9_-]{1,64}$' },
    additionalProperties: { type: 'string', pattern: `^${toolName}$` },
    description: 'Tools shown as tools of their own under names that you choose: history = "git:log"'
  }),
  task_after_ms: Type.Integer({
    default: 1_000, minimum: 0, maximum: 60_000,
    description: 'How long a tool runs before its call becomes a task, in milliseconds, for clients that take tasks'
  }),
  task_only: toolPatterns('Shown tools that run as tasks only: clients that take no tasks are refused')
})

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'mcp', sections: [mcpSection] }
