import { ProtocolError, ProtocolErrorCode, type McpServer, type Prompt } from '@modelcontextprotocol/server'
import { listExecutions, listSkills, messageOf, outputUri, readSkillFile, type Call } from '../../kernel/index.ts'
import { callOf } from './call.ts'
import type { Host } from './host.ts'

const useSkill = {
  name: 'use_skill',
  title: 'Use a skill',
  description: 'Read the instructions of a skill, and do a task with it',
  arguments: [{ name: 'skill', description: 'Name of the skill', required: true }, { name: 'task', description: 'What is to be done' }]
} as const satisfies Prompt

/** Values a client is offered at once. */
const offeredMax = 100

/** Serves one prompt: a skill's instructions, and the task. */
export function addPrompts ({ server }: McpServer, host: Host): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: [{ ...useSkill, arguments: [...useSkill.arguments] }] }))
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: given = {} } }, ctx) => {
    if (name !== useSkill.name) throw invalid(`There is no prompt "${name.slice(0, 256)}"; there is ${useSkill.name}`)
    const { skill, task } = given
    if (skill === undefined) throw invalid('The prompt needs the argument "skill"')
    const file = await host.gateway.invoke(readSkillFile, { name: skill }, callOf(ctx)).catch((thrown: unknown) => { throw invalid(messageOf(thrown)) })
    const text = `Use the skill "${skill}": run its tools by the tool execute, with skill_name "${skill}".${task === undefined ? '' : `\n\nThe task: ${task}`}`
    return {
      description: useSkill.description,
      messages: [
        { role: 'user', content: { type: 'text', text } },
        { role: 'user', content: { type: 'resource', resource: { uri: `skill://${skill}/SKILL.md`, mimeType: 'text/markdown', text: file.content } } }
      ]
    }
  })
}

/** Completes names of skills, and ids of executions, as a person types them. What it does not know has no completions. */
export function addCompletions ({ server }: McpServer, host: Host): void {
  server.setRequestHandler('completion/complete', async ({ params: { ref, argument: { name, value } } }, ctx) => {
    const call = callOf(ctx)
    const known = ref.type === 'ref/prompt'
      ? ref.name === useSkill.name && name === 'skill' ? await skillNames(host, call) : []
      : ref.uri.startsWith('skill://') ? (await skillNames(host, call)).map(skill => `${skill}/SKILL.md`)
        : ref.uri.startsWith(outputUri('{id}')) && name === 'id' ? await recentIds(host, call) : []
    const begin = known.filter(one => one.startsWith(value))
    const values = [...begin, ...known.filter(one => !one.startsWith(value) && one.includes(value))]
    return { completion: { values: values.slice(0, offeredMax), total: values.length, hasMore: values.length > offeredMax } }
  })
}

async function skillNames (host: Host, call: Call): Promise<string[]> {
  return (await host.gateway.invoke(listSkills, {}, call)).skills.map(({ name }) => name)
}

async function recentIds (host: Host, call: Call): Promise<string[]> {
  return (await host.gateway.invoke(listExecutions, { limit: offeredMax }, call)).executions.map(({ id }) => id)
}

function invalid (message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
