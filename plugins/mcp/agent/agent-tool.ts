import type { Static, TObject } from 'typebox'
import type { Call, Callable, JsonObject, Services } from '../../../kernel/index.ts'
import type { ClientInput } from './client-input.ts'
import type { Terms } from './terms.ts'

/** A call with the client's own input, which a client may send beside the agent's parameters. */
export interface ClientCall extends Call { readonly client: ClientInput }

/** A call that an agent makes. */
export interface AgentCall extends ClientCall {
  /**
   * Handles the output of a tool that has the form of MCP content.
   * @returns whether the content was accepted: then the answer for the agent holds only its text
   */
  spoken (terms: Terms): boolean
}

/** A tool for agents: its texts are written for a model, and its answer is short enough for a model's context. */
export interface AgentTool<I extends TObject = TObject, O extends TObject = TObject>
  extends Omit<Callable<I, O>, 'handler'> {
  readonly title: string
  /** A valid call, which error messages show. */
  readonly example: JsonObject
  handler (services: Services, input: Static<I>, call: AgentCall): Static<O> | Promise<Static<O>>
}

/** Declares a tool for agents; the types of its handler follow from its schemas. */
export function agentTool<I extends TObject, O extends TObject> (definition: AgentTool<I, O>): AgentTool {
  return definition
}

/** The tool in the form that the gateway needs, for one call. */
export function callableFor (tool: AgentTool, call: AgentCall): Callable {
  return { ...tool, handler: (services, input) => tool.handler(services, input, call) }
}
