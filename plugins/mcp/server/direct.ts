import { createHash } from 'node:crypto'
import { isSpecType, ProtocolError, ProtocolErrorCode, type CallToolResult } from '@modelcontextprotocol/server'
import {
  coerceText, compileAllows, execute, listSkills, SkilletError, type Access, type Allows, type Call, type Gateway,
  type JsonObject, type schemas, type Skill, type Tool
} from '../../../kernel/index.ts'
import type { ClientCall } from '../agent/agent-tool.ts'
import { withClientInput } from '../agent/client-input.ts'
import { runOf } from '../agent/run-of.ts'
import { termsOf, type Terms } from '../agent/terms.ts'
import type { DirectTool } from './direct-tool.ts'
import { instanceOf, withInstanceParameter } from './instances.ts'

/** The longest name that all clients accept. */
const nameMax = 64

/** The tools that a setting selects, for each set of rights; selected again when the skills change. */
export class DirectTools {
  readonly #gateway: Gateway
  readonly #exposes: ReturnType<typeof compileAllows>
  readonly #reserved: ReadonlySet<string>
  readonly #names: Readonly<Record<string, string>>
  #made = new WeakMap<object, ReadonlyMap<string, DirectTool>>()
  readonly #everybody = {}
  readonly #signal = new AbortController().signal // a list needs no waiting

  /**
   * @param patterns in the form of a key's rights: `git`, `git:log`, `git:*-status`
   * @param reserved names that are already in use
   * @param names further tools, as `skill:tool`, by the names that the user chose for them
   */
  constructor (
    gateway: Gateway, patterns: readonly string[], reserved: Iterable<string>,
    names: Readonly<Record<string, string>> = {}
  ) {
    this.#gateway = gateway
    this.#exposes = compileAllows(patterns)
    this.#reserved = new Set(reserved)
    this.#names = names
  }

  /** Whether any tool may be shown. */
  get any (): boolean {
    return this.#exposes !== undefined || Object.keys(this.#names).length > 0
  }

  forget (): void {
    this.#made = new WeakMap()
  }

  /** The tools by their name in MCP. */
  async of ({ access }: Pick<Call, 'access'>): Promise<ReadonlyMap<string, DirectTool>> {
    if (!this.any) return new Map()
    const whose: Access | object = access ?? this.#everybody
    const made = this.#made.get(whose)
    if (made !== undefined) return made
    const tools = new Map<string, DirectTool>()
    const skills = await this.#skillsOf(access)
    for (const [name, target] of Object.entries(this.#names)) {
      const skill = skills.find(skill => target.startsWith(`${skill.name}:`))
      const tool = skill?.tools.find(tool => target === `${skill.name}:${tool.name}`)
      if (skill !== undefined && tool !== undefined) tools.set(name, shownOnce(skill, tool))
    }
    for (const skill of skills) {
      for (const tool of skill.tools) {
        for (const shown of shownOf(skill, tool, this.#exposes)) {
          const name = nameOf(shown.skill_name, tool.name, taken => tools.has(taken) || this.#reserved.has(taken))
          tools.set(name, shown)
        }
      }
    }
    this.#made.set(whose, tools)
    return tools
  }

  /** The skills that a caller may see; none for one who may only run tools, and so sees no list of them. */
  async #skillsOf (access: Access | undefined): Promise<readonly Skill[]> {
    if (access?.scopes.has('read') === false) return []
    const { skills } = await this.#gateway.invoke(listSkills, {}, { transport: 'mcp', signal: this.#signal, access })
    return skills
  }
}

/** A tool as it is shown: once, or once for each instance of its skill that the patterns name. */
function shownOf (skill: Skill, tool: Tool, exposes: Allows | undefined): DirectTool[] {
  if (exposes === undefined) return []
  const { name: skill_name, instances } = skill
  if (exposes(skill_name, tool.name)) return [shownOnce(skill, tool)]
  return (instances ?? []).filter(({ name }) => exposes(name, tool.name))
    .map(({ name }) => ({ skill_name: name, tool_name: tool.name, tool }))
}

function shownOnce (skill: Skill, tool: Tool): DirectTool {
  return skill.instances === undefined
    ? { skill_name: skill.name, tool_name: tool.name, tool }
    : withInstanceParameter(skill, tool)
}

/** A name such as `git_log` or `github_work_log`; one that is too long or already in use ends with a part of a hash. */
function nameOf (skill: string, tool: string, isTaken: (name: string) => boolean): string {
  const plain = `${skill}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  if (plain.length <= nameMax && !isTaken(plain)) return plain
  const hash = createHash('sha256').update(`${skill}:${tool}`).digest('hex').slice(0, 8)
  return `${plain.slice(0, nameMax - hash.length - 1)}_${hash}`
}

/**
 * Runs a directly exposed tool, with the values that its client fills in: to its end unless the call is for a task.
 * @throws SkilletError
 */
export async function executeDirect (
  direct: DirectTool, sent: JsonObject, call: ClientCall, gateway: Gateway
): Promise<schemas.ExecuteResult> {
  const { skill_name, parameters: own } = instanceOf(direct, sent)
  const parameters = withClientInput(skill_name, direct.tool, own, call.client)
  const run = runOf(call, direct.tool)
  return await gateway.invoke(execute, { skill_name, tool_name: direct.tool_name, parameters, ...run }, call)
}

/**
 * Runs a tool for a client that sends text values, as in prompts and addresses.
 * @throws ProtocolError with the reason of the failure: only tool calls have failed results in MCP
 */
export async function runTool (
  direct: DirectTool,
  texts: Readonly<Record<string, string>>,
  call: ClientCall,
  gateway: Gateway
): Promise<{ output: string, terms: Terms | undefined }> {
  const parameters = Object.fromEntries(Object.entries(texts)
    .map(([name, text]) => [name, coerceText(direct.tool.parameters.find(parameter => parameter.name === name), text)]))
  try {
    const { output } = await executeDirect(direct, parameters, call, gateway)
    return { output, terms: termsOf(output, direct.tool) }
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
