import {
  ProtocolError, ProtocolErrorCode, type McpServer, type ServerContext, type StandardSchemaV1
} from '@modelcontextprotocol/server'
import { isObject, SkilletError, type Call } from '../../../kernel/index.ts'
import { callOf } from '../server/call.ts'
import type { Host } from '../server/host.ts'
import { cancel, takesTasks } from './begin.ts'
import { findTask } from './callables.ts'
import { showTask } from './show.ts'
import { missingTasks } from './task.ts'

/** The longest id of a task that is looked up, in characters. */
const idMax = 256

interface TaskParams { taskId: string }

/** The parameters of the methods of tasks, in the form that the SDK takes schemas in. */
const taskParams: StandardSchemaV1<unknown, TaskParams> = {
  '~standard': {
    version: 1,
    vendor: 'skillet',
    validate (value) {
      const taskId = isObject(value) ? value['taskId'] : undefined
      if (typeof taskId === 'string' && taskId !== '' && taskId.length <= idMax) return { value: { taskId } }
      return { issues: [{ message: `taskId must be a text of 1 to ${idMax} characters` }] }
    }
  }
}

/** Serves the methods of the extension for tasks. */
export function addTasks ({ server }: McpServer, host: Host): void {
  server.setRequestHandler('tasks/get', { params: taskParams }, async ({ taskId }, ctx) => {
    const task = await orProtocolError(showTask(taskId, callForTask(ctx), host))
    if (task === undefined) throw unknownTask(taskId)
    return task
  })
  server.setRequestHandler('tasks/update', { params: taskParams }, async ({ taskId }, ctx) => {
    await own(taskId, callForTask(ctx), host)
    const answers = ctx.mcpReq.inputResponses
    if (answers === undefined) {
      const message = 'inputResponses must be an object: answers by the keys of inputRequests'
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    host.tasks.get(taskId)?.questions.answer(answers)
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async ({ taskId }, ctx) => {
    const call = callForTask(ctx)
    await own(taskId, call, host)
    cancel(taskId, call, host)
    return {}
  })
}

/**
 * The call of a request about a task.
 * @throws ProtocolError for clients that take no tasks; those before 2026 do not have these methods
 */
function callForTask (ctx: ServerContext): Call {
  if (ctx.mcpReq.envelope === undefined) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
  if (!takesTasks(ctx)) throw missingTasks(`${ctx.mcpReq.method} is a method of tasks`)
  return callOf(ctx)
}

/** @throws ProtocolError when the caller has no such task */
async function own (id: string, call: Call, host: Host): Promise<void> {
  const { found } = await orProtocolError(host.gateway.invoke(findTask, { id }, call))
  if (found === undefined) throw unknownTask(id)
}

function unknownTask (id: string): ProtocolError {
  const message = `There is no task "${id}": its execution was pruned from the history, or another key began it`
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

/** Gives errors of Skillet the codes of JSON-RPC. */
async function orProtocolError<T> (promise: Promise<T>): Promise<T> {
  try {
    return await promise
  } catch (thrown) {
    const { kind, message } = SkilletError.from(thrown)
    const isCallers = kind === 'invalid' || kind === 'missing' || kind === 'forbidden'
    throw new ProtocolError(isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message)
  }
}
