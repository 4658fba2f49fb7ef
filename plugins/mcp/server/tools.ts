import {
  ProtocolError, ProtocolErrorCode, type CallToolResult, type McpServer
} from '@modelcontextprotocol/server'
import { didYouMean, type JsonObject } from '../../../kernel/index.ts'
import { callableFor, type AgentCall, type AgentTool, type ClientCall, type Run } from '../agent/agent-tool.ts'
import { withoutNulls } from '../agent/near-misses.ts'
import { runMetaIn } from '../agent/run-meta.ts'
import { beginTask, takesTasks } from '../tasks/begin.ts'
import { beginning } from '../tasks/callables.ts'
import { missingTasks } from '../tasks/task.ts'
import { answerBy, answerOf, resultOfRun } from './answers.ts'
import { stateOf } from './asking.ts'
import { callOf, callWithClient } from './call.ts'
import { callInRounds } from './call-in-rounds.ts'
import { described, describedDirect } from './described.ts'
import { executeDirect } from './direct.ts'
import type { DirectTool } from './direct-tool.ts'
import type { Host } from './host.ts'

/** Clients refuse a `/` in listed names; but calls of names with this prefix are accepted. */
const fullName = 'skillet/'

/** How a call of a tool is run. */
interface Runner {
  /** The tool for agents, if it is one. */
  readonly agent: AgentTool | undefined
  run (call: AgentCall): Promise<CallToolResult>
  /** Runs a tool of a skill, to its end unless the call is for a task; absent for what runs no such tool. */
  begin? (call: ClientCall): Promise<Run>
}

/** Serves the tools for agents, and the tools that the configuration exposes. */
export function addTools ({ server }: McpServer, host: Host, running: (change: 1 | -1) => void): void {
  server.setRequestHandler('tools/list', async (_request, ctx) => {
    const direct = await host.direct.of(callOf(ctx))
    return { tools: [...host.tools.map(described), ...[...direct].map(([name, tool]) => describedDirect(name, tool))] }
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {}, _meta } }, ctx) => {
    const request = [name, input] as const
    const call = callWithClient(ctx, server, request)
    const tool = { request, call, server, ctx, host, running }
    // The check writes default values into the input, so it gets a copy.
    const start = (): Promise<Runner> =>
      runnerOf(name, structuredClone(input), call, host, server.getNegotiatedProtocolVersion(), takesTasks(ctx))
    if (takesTasks(ctx) && stateOf(ctx, request)?.conversation === undefined) {
      const runner = await start()
      const run = runMetaIn(_meta)
      if (runner.begin !== undefined && run.asynchronous === undefined) {
        return await beginTask({ ...tool, call: { ...call, run } }, runner.agent, runner.begin)
      }
    }
    return await callInRounds(tool, async () => {
      const { agent, run } = await start()
      return call => answerBy(run, agent, { ...call, run: runMetaIn(_meta) }, request, ctx, host)
    })
  })
}

/**
 * How a call of a tool is run.
 * @param version the revision of the client
 * @throws ProtocolError when no such tool exists, or when its client would have to take tasks
 */
async function runnerOf (
  name: string, input: JsonObject, call: ClientCall, host: Host, version: string | undefined, takesTasks: boolean
): Promise<Runner> {
  const bare = name.startsWith(fullName) ? name.slice(fullName.length) : name
  const agent = host.tools.find(tool => tool.name === bare)
  if (agent !== undefined) return runnerOfAgents(agent, input, host, version)
  const direct = await host.direct.of(call)
  const tool = direct.get(name)
  if (tool !== undefined) {
    if (!takesTasks && host.isTaskOnly(tool)) throw missingTasks(`${name} runs as a task only`)
    return runnerOfDirect(tool, withoutNulls(tool.tool.input_schema, input), host, version)
  }
  const nearest = didYouMean(bare, [...host.tools.map(({ name }) => name), ...direct.keys()])
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 256)}${nearest}`)
}

function runnerOfAgents (agent: AgentTool, sent: JsonObject, host: Host, version: string | undefined): Runner {
  const input = withoutNulls(agent.input, sent)
  const running = host.runningTools.find(tool => tool.name === agent.name)
  return {
    agent,
    run: async call => answerOf(await host.gateway.invoke(callableFor(agent, call), input, call), version),
    ...(running !== undefined && {
      begin: async call => await host.gateway.invoke(beginning(running, call), input, call)
    })
  }
}

function runnerOfDirect (tool: DirectTool, parameters: JsonObject, host: Host, version: string | undefined): Runner {
  const begin = async (call: ClientCall): Promise<Run> =>
    ({ result: await executeDirect(tool, parameters, call, host.gateway), view: 'own' })
  return {
    agent: undefined,
    run: async call => await resultOfRun(await begin(call), tool.tool, version, call.spoken, host),
    begin
  }
}
