import type { Prompt } from '@modelcontextprotocol/server'

/** The prompt that shows a skill's instructions, with a task. */
export const useSkill = {
  name: 'use_skill',
  title: 'Use a skill',
  description: 'Read the instructions of a skill, and do a task with it',
  arguments: [
    { name: 'skill', description: 'Name of the skill', required: true },
    { name: 'task', description: 'What is to be done' }
  ]
} as const satisfies Prompt
