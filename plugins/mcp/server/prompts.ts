import {
  isSpecType, ProtocolError, ProtocolErrorCode, type GetPromptResult, type McpServer, type Prompt
} from '@modelcontextprotocol/server'
import {
  agentParameters, didYouMean, getSkill, listExecutions, listSkills, messageOf, readSkillFile, splitInstance, type Call,
  type Tool
} from '../../../kernel/index.ts'
import { outputUri } from '../agent/execute.ts'
import { askingResult, isAsking } from './asking.ts'
import { callOf, callWithClient } from './call.ts'
import { contentOf, runTool } from './direct.ts'
import type { DirectTool } from './direct-tool.ts'
import type { Host } from './host.ts'
import { instructionsUri } from './subscriptions.ts'
import { useSkill } from './use-skill.ts'

/** The number of values that one completion offers. */
const offeredMax = 100

/**
 * Serves the built-in prompt, which has a skill's instructions and the task, and the tools that are shown as prompts.
 */
export function addPrompts ({ server }: McpServer, host: Host): void {
  server.setRequestHandler('prompts/list', async (_request, ctx) => {
    const tools = await host.prompts.of(callOf(ctx))
    return { prompts: [
      { ...useSkill, arguments: [...useSkill.arguments] },
      ...[...tools].map(([name, tool]) => described(name, tool))
    ] }
  })
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: args = {} } }, ctx) => {
    if (name === useSkill.name) return await instructionsOf(args, callOf(ctx), host)
    const call = callWithClient(ctx, server, [name, args])
    const tools = await host.prompts.of(call)
    const prompt = tools.get(name)
    if (prompt === undefined) {
      throw invalid(`There is no prompt "${name.slice(0, 256)}"${didYouMean(name, [useSkill.name, ...tools.keys()])}`)
    }
    const { terms, output } = await runTool(prompt, args, call, host.gateway)
    if (terms !== undefined && isAsking(terms)) return await askingResult(terms, [name, args], ctx, host.states)
    const messages = terms !== undefined && 'messages' in terms ? { messages: terms.messages } : undefined
    if (isSpecType.GetPromptResult(messages)) return messages
    return { messages: (contentOf(terms) ?? [{ type: 'text' as const, text: output }]).map(
      content => ({ role: 'user' as const, content })
    ) }
  })
}

async function instructionsOf (
  { skill, task }: Record<string, string>,
  call: Call,
  host: Host
): Promise<GetPromptResult> {
  if (skill === undefined) throw invalid('The prompt needs the argument "skill"')
  const file = await host.gateway.invoke(readSkillFile, { name: skill }, call)
    .catch((thrown: unknown) => { throw invalid(messageOf(thrown)) })
  const { instances } = await host.gateway.invoke(getSkill, { name: skill }, call)
  const names = instances === undefined
    ? `skill_name "${skill}"`
    : `one of these as skill_name: ${instances.map(({ name }) => name).join(', ')}`
  const text =
    `Use the skill "${skill}": run its tools by the tool execute, with ${names}.${task === undefined ? '' : `\n\nThe task: ${task}`}`
  return {
    description: useSkill.description,
    messages: [
      { role: 'user', content: { type: 'text', text } },
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: { uri: instructionsUri(splitInstance(skill).skill), mimeType: 'text/markdown', text: file.content }
        }
      }
    ]
  }
}

function described (name: string, { skill_name, tool_name, tool }: DirectTool): Prompt {
  return {
    name,
    title: `${skill_name}: ${tool_name}`,
    description: tool.description,
    arguments: agentParameters(tool).map(({ name, description, required }) => ({ name, description, required }))
  }
}

/** Completes names of skills and ids of executions while a person types them. Other arguments have no completions. */
export function addCompletions ({ server }: McpServer, host: Host): void {
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument: { name, value } } }, ctx) => {
    const call = callOf(ctx)
    const choices = ref.type === 'ref/prompt'
      ? ref.name === useSkill.name
        ? name === 'skill' ? await skillNames(host, call, { instances: true }) : []
        : choicesOf((await host.prompts.of(call)).get(ref.name)?.tool, name)
      : ref.uri.startsWith('skill://') ? (await skillNames(host, call)).map(skill => `${skill}/SKILL.md`)
        : ref.uri.startsWith(outputUri('{id}')) && name === 'id' ? await recentIds(host, call) : []
    const begin = choices.filter(choice => choice.startsWith(value))
    const values = [...begin, ...choices.filter(choice => !choice.startsWith(value) && choice.includes(value))]
    return {
      completion: { values: values.slice(0, offeredMax), total: values.length, hasMore: values.length > offeredMax }
    }
  })
}

/** The values that a parameter may have, where its schema lists them. */
function choicesOf (tool: Tool | undefined, name: string): string[] {
  const choices = tool?.parameters.find(parameter => parameter.name === name)?.['enum']
  return Array.isArray(choices) ? choices.map(String) : []
}

async function skillNames (host: Host, call: Call, { instances: withThem = false } = {}): Promise<string[]> {
  const { skills } = await host.gateway.invoke(listSkills, {}, call)
  return skills.flatMap(({ name, instances = [] }) =>
    [name, ...(withThem ? instances.map(instance => instance.name) : [])])
}

async function recentIds (host: Host, call: Call): Promise<string[]> {
  return (await host.gateway.invoke(listExecutions, { limit: offeredMax }, call)).executions.map(({ id }) => id)
}

function invalid (message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
