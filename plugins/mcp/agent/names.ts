/** The names of the tools for agents. */
export const agentToolNames = ['list_skills', 'execute', 'query', 'search_skills'] as const
export type AgentToolName = typeof agentToolNames[number]
