import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { SkilletError, type Call, type JsonObject, type Tool } from '../../../kernel/index.ts'
import type { AgentCall, AgentTool, ClientCall, Run } from '../agent/agent-tool.ts'
import { cut } from '../agent/excerpt.ts'
import { outputUri, viewOf } from '../agent/execute.ts'
import { termsOf, type Terms } from '../agent/terms.ts'
import { askingResult, isAsking, type Asking } from './asking.ts'
import { contentOf } from './direct.ts'
import { failureOf } from './failures.ts'
import type { Host } from './host.ts'

/** The longest answer of a directly exposed tool, in characters: clients refuse results over 25,000 tokens. */
const outputMax = 20_000

/** Answers a call by its tool. */
export async function answerBy (
  run: (call: AgentCall) => Promise<CallToolResult>, agent: AgentTool | undefined, call: ClientCall, request: unknown,
  ctx: ServerContext, host: Host
): Promise<CallToolResult | InputRequiredResult> {
  return await answerOrAsk(run, agent, call, host, asking => askingResult(asking, request, ctx, host.states))
}

/** Answers a call by its tool. @param ask gives the answer for a tool that asks something by its output */
export async function answerOrAsk<C extends Call, R> (
  run: (call: C & Pick<AgentCall, 'spoken'>) => Promise<CallToolResult>, agent: AgentTool | undefined, call: C,
  host: Host, ask: (asking: Asking) => Promise<R>
): Promise<CallToolResult | R> {
  let terms: Terms | undefined
  const spoken = (answer: Terms): boolean => {
    if (isAsking(answer) || contentOf(answer) !== undefined) terms = answer
    return terms !== undefined
  }
  try {
    const result = await run({ ...call, spoken })
    if (terms !== undefined && isAsking(terms)) return await ask(terms)
    return terms === undefined ? result : withContent(result, contentOf(terms) ?? [], agent)
  } catch (error) {
    return await failureOf(SkilletError.from(error), agent, call, host)
  }
}

/** Adds the contents of a tool, such as images, to a result. The result of an agents' tool already has the text. */
function withContent (
  result: CallToolResult,
  content: CallToolResult['content'],
  agent: AgentTool | undefined
): CallToolResult {
  if (agent !== undefined) {
    return { ...result, content: [...result.content, ...content.filter(({ type }) => type !== 'text')] }
  }
  return { content: content.map(
    block => block.type === 'text' ? { ...block, text: cut(block.text, outputMax, 'head') } : block
  ) }
}

/** The result of a run that has ended, as its client wants to see it. @param version the revision of the client */
export async function resultOfRun (
  { result, view }: Run, tool: Pick<Tool, 'parameters'>, version: string | undefined, spoken: AgentCall['spoken'],
  host: Host
): Promise<CallToolResult> {
  if (view !== 'own') return answerOf(await viewOf(result, view, tool, host.selections, spoken), version)
  const { execution_id, output } = result
  const terms = termsOf(output, tool)
  if (terms !== undefined && spoken(terms)) return { content: [] }
  const text = cut(output, outputMax, 'head')
  return {
    content: [{ type: 'text', text: text === output ? text : `${text}\nwhole output: ${outputUri(execution_id)}` }]
  }
}

/** The answer of a tool for agents. @param version the revision of the client */
export function answerOf (output: JsonObject, version: string | undefined): CallToolResult {
  const { execution_id, note } = output
  const content: CallToolResult['content'] = [{ type: 'text', text: JSON.stringify(output) }]
  if (hasLinks(version) && typeof execution_id === 'string' && note !== undefined) content.push(linkTo(execution_id))
  return { content, structuredContent: output }
}

/** Whether a revision has links in results; clients of older revisions refuse unknown contents. */
function hasLinks (version: string | undefined): boolean {
  return version !== undefined && version >= '2025-06-18'
}

function linkTo (execution_id: string): CallToolResult['content'][number] {
  return {
    type: 'resource_link',
    uri: outputUri(execution_id),
    name: 'Whole output',
    description: 'Parts: add ?offset=N&length=N, in characters',
    mimeType: 'text/plain'
  }
}
