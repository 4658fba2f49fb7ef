import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { launch, launcher, type Home } from './program.ts'

/** A client of the older SDK, connected. */
export async function connect (transport: Transport): Promise<{ client: Client, errors: Error[] }> {
  const client = new Client({ name: 'test', version: '1' })
  const errors: Error[] = []
  client.onerror = error => { errors.push(error) }
  await client.connect(transport)
  return { client, errors }
}

type Progress = (progress: { progress: number, total?: number | undefined, message?: string | undefined }) => void

/** Calls a tool; the client checks structured content against the schema the server gave. */
export async function callTool (
  client: Client,
  name: string,
  args: Record<string, unknown>,
  { signal, onprogress }: { signal?: AbortSignal, onprogress?: Progress } = {}
): Promise<CallToolResult> {
  return await client.callTool(
    { name, arguments: args },
    undefined,
    { ...(signal !== undefined && { signal }), ...(onprogress !== undefined && { onprogress }) }
  ) as CallToolResult
}

/** The text of a result's first block. */
export function textOf ({ content: [first] }: CallToolResult): string {
  if (first?.type !== 'text') throw new Error(`the result begins with ${first?.type}`)
  return first.text
}

export function execute (
  client: Client,
  skill_name: string,
  tool_name: string,
  parameters: object = {},
  more: object = {},
  options: Parameters<typeof callTool>[3] = {}
): Promise<CallToolResult> {
  return callTool(client, 'execute', { skill_name, tool_name, parameters, ...more }, options)
}

type Message = Record<string, unknown>

/** `skillet mcp`, spoken to line by line. */
export class RawAgent {
  readonly child: ChildProcess
  readonly lines: string[] = []
  readonly ended: Promise<unknown>
  stderr = ''

  constructor (home: Home, args: readonly string[] = []) {
    this.child =
      spawn(launcher, [...launch, 'mcp', ...args], { cwd: home.folder, env: home.env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.ended = once(this.child, 'exit')
    this.child.stdin?.on('error', () => {}) // it has ended
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => { this.stderr += text })
    if (this.child.stdout !== null) {
      createInterface(this.child.stdout.setMaxListeners(0)).on('line', line => { this.lines.push(line) })
    }
  }

  send (...messages: unknown[]): void {
    for (const message of messages) {
      this.child.stdin?.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
    }
  }

  initialize (protocolVersion = '2025-11-25'): void {
    this.send(
      {
        jsonrpc: '2.0',
        id: 'init',
        method: 'initialize',
        params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
      },
      { jsonrpc: '2.0', method: 'notifications/initialized' }
    )
  }

  call (id: number, skill_name: string, tool_name: string, parameters: object = {}): void {
    this.send({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'execute', arguments: { skill_name, tool_name, parameters } }
    })
  }

  /** All lines are messages, or this throws. */
  get messages (): Message[] {
    return this.lines.flatMap((line): Message[] => [JSON.parse(line) as Message | Message[]].flat())
  }

  answer (id: unknown): Message | undefined {
    return this.messages.find(message => message['id'] === id)
  }
}
