import { createHash } from 'node:crypto'
import { isSpecType, ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'
import {
  coerceText, compileAllows, execute, listSkills, SkilletError, type Access, type Call, type Gateway, type JsonObject,
  type Tool
} from '../../../kernel/index.ts'
import type { ClientCall } from '../agent/agent-tool.ts'
import { withClientInput } from '../agent/client-input.ts'
import { termsOf, type Terms } from '../agent/terms.ts'

/** A tool of a skill that is shown under a name of its own. */
export interface DirectTool { skill_name: string, tool_name: string, tool: Tool }

/** The longest name that all clients accept. */
const nameMax = 64

/** The tools that a setting selects, for each set of rights; selected again when the skills change. */
export class DirectTools {
  readonly #gateway: Gateway
  readonly #exposes: ReturnType<typeof compileAllows>
  readonly #reserved: ReadonlySet<string>
  #made = new WeakMap<object, ReadonlyMap<string, DirectTool>>()
  readonly #everybody = {}
  readonly #signal = new AbortController().signal // a list needs no waiting

  /**
   * @param patterns in the form of a key's rights: `git`, `git:log`, `git:*-status`
   * @param reserved names that are already in use
   */
  constructor (gateway: Gateway, patterns: readonly string[], reserved: Iterable<string>) {
    this.#gateway = gateway
    this.#exposes = compileAllows(patterns)
    this.#reserved = new Set(reserved)
  }

  /** Whether any tool may be shown. */
  get any (): boolean {
    return this.#exposes !== undefined
  }

  forget (): void {
    this.#made = new WeakMap()
  }

  /** The tools by their name in MCP. */
  async of ({ access }: Pick<Call, 'access'>): Promise<ReadonlyMap<string, DirectTool>> {
    const exposes = this.#exposes
    if (exposes === undefined) return new Map()
    const whose: Access | object = access ?? this.#everybody
    const made = this.#made.get(whose)
    if (made !== undefined) return made
    const tools = new Map<string, DirectTool>()
    const { skills } = await this.#gateway.invoke(listSkills, {}, { transport: 'mcp', signal: this.#signal, access })
    for (const skill of skills) {
      for (const tool of skill.tools) {
        if (!exposes(skill.name, tool.name)) continue
        const name = nameOf(skill.name, tool.name, taken => tools.has(taken) || this.#reserved.has(taken))
        tools.set(name, { skill_name: skill.name, tool_name: tool.name, tool })
      }
    }
    this.#made.set(whose, tools)
    return tools
  }
}

/** A name such as `git_log`; a name that is too long or already in use ends with a part of a hash. */
function nameOf (skill: string, tool: string, isTaken: (name: string) => boolean): string {
  const plain = `${skill}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  if (plain.length <= nameMax && !isTaken(plain)) return plain
  const hash = createHash('sha256').update(`${skill}:${tool}`).digest('hex').slice(0, 8)
  return `${plain.slice(0, nameMax - hash.length - 1)}_${hash}`
}

/**
 * Runs a directly exposed tool, with the values that its client fills in.
 * @throws SkilletError
 */
export async function executeDirect (
  { skill_name, tool_name, tool }: DirectTool, sent: JsonObject, call: ClientCall, gateway: Gateway
): Promise<{ execution_id: string, output: string }> {
  const parameters = withClientInput(skill_name, tool, sent, call.client)
  return await gateway.invoke(execute, { skill_name, tool_name, parameters }, call)
}

/**
 * Runs a tool for a client that sends text values, as in prompts and addresses.
 * @throws ProtocolError with the reason of the failure: only tool calls have failed results in MCP
 */
export async function runTool (
  { skill_name, tool_name, tool }: DirectTool,
  texts: Readonly<Record<string, string>>,
  call: ClientCall,
  gateway: Gateway
): Promise<{ output: string, terms: Terms | undefined }> {
  const parameters = Object.fromEntries(Object.entries(texts)
    .map(([name, text]) => [name, coerceText(tool.parameters.find(parameter => parameter.name === name), text)]))
  try {
    const { output } = await executeDirect({ skill_name, tool_name, tool }, parameters, call, gateway)
    return { output, terms: termsOf(output, tool) }
  } catch (error) {
    const { kind, message } = SkilletError.from(error)
    throw new ProtocolError(
      kind === 'invalid' || kind === 'missing' || kind === 'forbidden'
        ? ProtocolErrorCode.InvalidParams
        : ProtocolErrorCode.InternalError,
      message
    )
  }
}

/** The contents that a tool returned as MCP content, such as an image; undefined when there are none. */
export function contentOf (terms: Terms | undefined): CallToolResult['content'] | undefined {
  const result = terms !== undefined && 'content' in terms ? { content: terms.content } : undefined
  return isSpecType.CallToolResult(result) ? result.content : undefined
}
