import { createHash } from 'node:crypto'
import { isSpecType, type CallToolResult, type Tool } from '@modelcontextprotocol/server'
import { compileAllows, listSkills, type Access, type Call, type Gateway } from '../../kernel/index.ts'

/** A tool of a skill that is shown as one of MCP. */
export interface DirectTool { skill_name: string, tool_name: string, definition: Tool }

/** The longest name that all clients take. */
const nameMax = 64

/** The tools that `mcp.expose` names, for each set of rights; made anew when the skills change. */
export class DirectTools {
  readonly #gateway: Gateway
  readonly #exposes: ReturnType<typeof compileAllows>
  #made = new WeakMap<object, ReadonlyMap<string, DirectTool>>()
  readonly #everybody = {}

  /** @param patterns as those of a key's rights: `git`, `git:log`, `git:*-status` */
  constructor (gateway: Gateway, patterns: readonly string[]) {
    this.#gateway = gateway
    this.#exposes = compileAllows(patterns)
  }

  /** Whether any tool may be shown. */
  get any (): boolean {
    return this.#exposes !== undefined
  }

  forget (): void {
    this.#made = new WeakMap()
  }

  /** By the name they have in MCP. */
  async of (call: Call): Promise<ReadonlyMap<string, DirectTool>> {
    const exposes = this.#exposes
    if (exposes === undefined) return new Map()
    const whose: Access | object = call.access ?? this.#everybody
    const made = this.#made.get(whose)
    if (made !== undefined) return made
    const tools = new Map<string, DirectTool>()
    const { skills } = await this.#gateway.invoke(listSkills, {}, call)
    for (const skill of skills) {
      for (const tool of skill.tools) {
        if (!exposes(skill.name, tool.name)) continue
        const name = nameOf(skill.name, tool.name, taken => tools.has(taken) || this.#gateway.operations.some(({ agent }) => agent?.name === taken))
        const inputSchema = tool.input_schema as Tool['inputSchema'] // always of an object
        tools.set(name, { skill_name: skill.name, tool_name: tool.name, definition: { name, title: `${skill.name}: ${tool.name}`, description: tool.description, inputSchema } })
      }
    }
    this.#made.set(whose, tools)
    return tools
  }
}

/** `git_log`; with a piece of a hash where that is too long or taken. */
function nameOf (skill: string, tool: string, isTaken: (name: string) => boolean): string {
  const plain = `${skill}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  if (plain.length <= nameMax && !isTaken(plain)) return plain
  const hash = createHash('sha256').update(`${skill}:${tool}`).digest('hex').slice(0, 8)
  return `${plain.slice(0, nameMax - hash.length - 1)}_${hash}`
}

/** What a tool says in the terms of MCP, such as an image: an output that is JSON of the shape `{"content": […]}`, and nothing else. */
export function contentOf (output: string): CallToolResult['content'] | undefined {
  if (!/^\s*\{\s*"content"\s*:\s*\[/.test(output)) return undefined
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    return undefined
  }
  return isSpecType.CallToolResult(value) && Object.keys(value).length === 1 ? value.content : undefined
}
