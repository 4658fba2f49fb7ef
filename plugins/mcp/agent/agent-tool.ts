import type { Static, TObject } from 'typebox'
import type {
  Call, Callable, JsonObject, schemas, Services, ToolAnnotations
} from '../../../kernel/index.ts'
import type { ClientInput } from './client-input.ts'
import type { ExcerptWanted } from './excerpt.ts'
import type { AgentToolName } from './names.ts'
import type { RunMeta } from './run-meta.ts'
import type { Terms } from './terms.ts'

/** A call with the client's own input, which a client may send beside the agent's parameters. */
export interface ClientCall extends Call {
  readonly client: ClientInput
  /** How the client wants a tool to be run. */
  readonly run?: RunMeta
  /** Whether the run may go on after the answer, as a task of the client. */
  readonly asTask?: boolean
}

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
  extends Omit<Callable<I, O>, 'handler' | 'name'> {
  readonly name: AgentToolName
  readonly title: string
  /** What clients are told of its effects. `effect` is the right that a caller needs. */
  readonly annotations: ToolAnnotations
  /** Whether its fields are listed without descriptions, since another tool has the same fields. */
  readonly isBrief?: boolean
  /** A valid call, which error messages show. */
  readonly example: JsonObject
  handler (services: Services, input: Static<I>, call: AgentCall): Static<O> | Promise<Static<O>>
}

/** How the output of a run is shown: the part that an agent wants, or as a tool of its own shows it. */
export type View = Readonly<ExcerptWanted> | 'own'

/** A run of a tool of a skill: as it ended, or, as a task, as it began. */
export interface Run {
  readonly result: schemas.ExecuteResult
  readonly view: View
}

/** A tool for agents that runs tools of skills. */
export interface RunningTool extends AgentTool {
  /** Runs a tool, to its end unless the call is for a task. */
  begin (services: Services, input: JsonObject, call: ClientCall): Promise<Run>
}

/** Declares a tool for agents; the types of its handler follow from its schemas. */
export function agentTool<I extends TObject, O extends TObject> (definition: AgentTool<I, O>): AgentTool {
  return definition
}

/** The tool in the form that the gateway needs, for one call. */
export function callableFor (tool: AgentTool, call: AgentCall): Callable {
  return { ...tool, handler: (services, input) => tool.handler(services, input, call) }
}
