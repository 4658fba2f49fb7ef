import type { Static, TObject } from 'typebox'
import type { Call, Callable, JsonObject, Services } from '../../../kernel/index.ts'
import type { ClientInput } from './client-input.ts'
import type { Terms } from './terms.ts'

/** A call for which a client may have brought something beside the agent's parameters. */
export interface ClientCall extends Call { readonly client: ClientInput }

/** A call that an agent makes. */
export interface AgentCall extends ClientCall {
  /**
   * Takes what a tool says in the terms of MCP.
   * @returns whether it was understood: then the agent's answer has only its text
   */
  spoken (terms: Terms): boolean
}

/** A tool for agents: with words for a model, and an answer that a model can afford. */
export interface AgentTool<I extends TObject = TObject, O extends TObject = TObject> extends Omit<Callable<I, O>, 'handler'> {
  readonly title: string
  /** A call that works, for errors to show. */
  readonly example: JsonObject
  handler (services: Services, input: Static<I>, call: AgentCall): Static<O> | Promise<Static<O>>
}

/** Declares a tool for agents; its handler is typed by its schemas. */
export function agentTool<I extends TObject, O extends TObject> (definition: AgentTool<I, O>): AgentTool {
  return definition
}

/** The tool as the gateway calls it for one call. */
export function callableFor (tool: AgentTool, call: AgentCall): Callable {
  return { ...tool, handler: (services, input) => tool.handler(services, input, call) }
}
