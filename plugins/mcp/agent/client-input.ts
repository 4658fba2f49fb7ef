import { SkilletError, type FROM_CLIENT, type JsonObject, type Tool } from '../../../kernel/index.ts'

/** What a client brought, by what a parameter declares as `from_client`. */
export type ClientInput = Readonly<{ answers?: JsonObject | undefined, state?: string | undefined, capabilities?: JsonObject | undefined }>

/**
 * Parameters with what the agent's client fills in. The agent itself can't: what a person is to answer would be
 * answered by the model.
 * @throws SkilletError INVALID_PARAMETERS when the agent gave one of them
 */
export function withClientInput (skill_name: string, tool: Pick<Tool, 'name' | 'parameters'>, given: JsonObject, client: ClientInput): JsonObject {
  let filled = given
  for (const { name, from_client } of tool.parameters) {
    if (from_client === undefined) continue
    if (Object.hasOwn(given, name)) throw new SkilletError('INVALID_PARAMETERS', `parameters/${name} is the client's to fill in, not yours; leave it out`, { skill: skill_name, tool: tool.name })
    const value = client[from_client as typeof FROM_CLIENT[number]] // its skill was checked
    if (value !== undefined) filled = { ...filled, [name]: value }
  }
  return filled
}

/** Whether a tool may ask the person: it has a parameter for the answers. */
export function asks ({ parameters }: Pick<Tool, 'parameters'>): boolean {
  return parameters.some(({ from_client }) => from_client === 'answers')
}
