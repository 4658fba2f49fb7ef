import { SkilletError, type FROM_CLIENT, type JsonObject, type Tool } from '../../../kernel/index.ts'

/** The input of a client, by the values that `from_client` of a parameter can have. */
export type ClientInput =
  Readonly<{ answers?: JsonObject | undefined, state?: string | undefined, capabilities?: JsonObject | undefined }>

/**
 * The parameters together with the values that the agent's client fills in. The agent can't set those itself: otherwise
 * the model would answer questions that are for a person.
 * @throws SkilletError INVALID_PARAMETERS when the agent gave a value for one of them
 */
export function withClientInput (
  skill_name: string, tool: Pick<Tool, 'name' | 'parameters'>, parameters: JsonObject, client: ClientInput
): JsonObject {
  let filled = parameters
  for (const { name, from_client } of tool.parameters) {
    if (from_client === undefined) continue
    if (Object.hasOwn(parameters, name)) {
      throw new SkilletError(
        'INVALID_PARAMETERS',
        `parameters/${name} is the client's to fill in, not yours; leave it out`,
        { skill: skill_name, tool: tool.name }
      )
    }
    const value = client[from_client as typeof FROM_CLIENT[number]] // the schema was checked when the skill was read
    if (value !== undefined) filled = { ...filled, [name]: value }
  }
  return filled
}

/** Whether a tool may begin by a question to its client, which only the answer of a call can carry. */
export function mayAskFirst (tool: Pick<Tool, 'parameters'>, { answers }: ClientInput): boolean {
  return answers === undefined && asks(tool)
}

/** Whether a tool may ask the user: it has a parameter for the answers. */
export function asks ({ parameters }: Pick<Tool, 'parameters'>): boolean {
  return parameters.some(({ from_client }) => from_client === 'answers')
}
