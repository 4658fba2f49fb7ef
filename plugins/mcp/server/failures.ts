import type { CallToolResult } from '@modelcontextprotocol/server'
import {
  getSkill, nearest, parameterLines, type Call, type ErrorEnvelope, type JsonObject, type SkilletError, type Tool
} from '../../../kernel/index.ts'
import type { AgentTool } from '../agent/agent-tool.ts'
import { outputUri } from '../agent/execute.ts'
import { exampleOf } from '../agent/words.ts'
import type { Host } from './host.ts'

/** The longest text in an error, in characters. */
const textMax = 4_000
/** The number of a skill's tools that an error lists after a wrong tool name. */
const namesMax = 100

/**
 * A failed call as a result, so that the model can read it and correct its call: the error envelope, with a correct
 * call in its message.
 */
export async function failureOf (
  thrown: SkilletError, agent: AgentTool | undefined, call: Call, host: Host
): Promise<CallToolResult> {
  const envelope: ErrorEnvelope = thrown.envelope()
  const hint = await hintFor(thrown, agent, call, host).catch(() => '') // the skill may have been removed meanwhile
  envelope.error.message = `${shorten(thrown.message)}${hint}`
  envelope.error.details = Object.fromEntries(
    Object.entries(thrown.details).map(([name, value]) => [name, typeof value === 'string' ? shorten(value) : value])
  )
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(envelope) }] }
}

async function hintFor (
  { code, details: { skill, tool, execution_id } }: SkilletError, agent: AgentTool | undefined, call: Call, host: Host
): Promise<string> {
  const described = typeof skill === 'string' && (code === 'INVALID_PARAMETERS' || code === 'TOOL_NOT_FOUND')
    ? await host.gateway.invoke(getSkill, { name: skill }, call)
    : undefined
  switch (code) {
    case 'INVALID_PARAMETERS': {
      const meant = described?.tools.find(({ name }) => name === tool)
      if (meant !== undefined) {
        const lines = parameterLines(meant).map(line => `\n- ${line}`).join('')
        const parameters = meant.parameters.length === 0 ? ' none' : lines
        return `\nParameters of ${skill}:${tool}:${parameters}${rightCall(String(skill), meant, agent)}`
      }
      return agent === undefined
        ? ''
        : `\n${agent.name} takes: ${Object.keys(agent.input.properties).join(', ')}${such(agent.example)}`
    }
    case 'TOOL_NOT_FOUND': {
      const names = described?.tools.map(({ name }) => name) ?? []
      const meant = described?.tools.find(({ name }) => name === nearest(String(tool), names))
      return `\nTools of ${skill}: ${names.slice(0, namesMax).join(', ')}${names.length > namesMax ? ', …' : ''}${meant === undefined ? '' : rightCall(String(skill), meant, agent)}`
    }
    case 'SKILL_NOT_FOUND': return '\nsearch_skills finds tools by words; list_skills names all skills.'
    default: return typeof execution_id === 'string' ? `\nOutput until then: ${outputUri(execution_id)}` : ''
  }
}

/** A correct call of a tool; with skill and tool name when the tool is called by `execute`. */
function rightCall (skill: string, tool: Tool, agent: AgentTool | undefined): string {
  const call = exampleOf(skill, tool)
  return such(agent === undefined ? call.parameters : call)
}

function such (example: JsonObject): string {
  return `\nSuch as: ${JSON.stringify(example)}`
}

/** Keeps both ends of a text that is too long: the failed part is at the beginning or at the end. */
function shorten (text: string): string {
  if (text.length <= textMax) return text
  return `${text.slice(0, textMax / 2)}\n[…]\n${text.slice(-textMax / 2)}`.toWellFormed()
}
