import { McpServer } from '@modelcontextprotocol/server'
import type { Access } from '../../../kernel/index.ts'
import type { Host } from './host.ts'
import { addCompletions, addPrompts } from './prompts.ts'
import { addResources } from './resources.ts'
import { Subscriptions } from './subscriptions.ts'
import { tasksExtension } from '../tasks/task.ts'
import { addTasks } from '../tasks/methods.ts'
import { addTools } from './tools.ts'

/** The instructions that a model gets when it connects. */
const instructions = 'Skillet runs tools of installed skills on this machine. Find a tool with search_skills, run it with execute, or with query where it only reads; list_skills shows all there is.'

export interface ServerOptions {
  /** The rights of the client. */
  access: Access | undefined
  /** Whether the server is long-lived: then it is notified when skills change, and closed when its key is revoked. */
  tracked: boolean
  /** Called when a call begins and when it ends. */
  running?: (change: 1 | -1) => void
}

/**
 * A server for one connection, or for one request.
 * @throws SkilletError UNAUTHORIZED when its key was revoked
 */
export function createServer (host: Host, { access, tracked, running }: ServerOptions): McpServer {
  const { version } = host.gateway.version
  const server = new McpServer({ name: 'skillet', title: 'Skillet', version }, {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
      extensions: { [tasksExtension]: {} }
    },
    instructions,
    requestState: { verify: (state, ctx) => host.states.verify(state, ctx) }
  })
  addTools(server, host, change => {
    running?.(change)
    host.count(change)
  })
  addTasks(server, host)
  addResources(server, host, access)
  host.skills.extension.attach(server)
  const subscriptions = new Subscriptions(server, host.gateway)
  addPrompts(server, host)
  addCompletions(server, host)
  if (tracked) host.of(access).add(server, subscriptions)
  return server
}
