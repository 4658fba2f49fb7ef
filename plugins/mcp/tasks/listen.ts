import { CLIENT_CAPABILITIES_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import { isObject, type Call, type JsonObject } from '../../../kernel/index.ts'
import type { Host } from '../server/host.ts'
import { declaresTasks } from './begin.ts'
import { followTask } from './follow.ts'
import { showTask } from './show.ts'
import { missingTasks } from './task.ts'

/** The number of tasks that one stream may follow. */
const followedMax = 100

const invalidParams = -32_602
const frameStart = 'event: message\ndata: '
const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** What a client of a stream of changes wants, beside the tasks. */
interface Wish { id: unknown, params: JsonObject, notifications: JsonObject }

/**
 * Opens a stream of changes that also tells the states of tasks. The SDK knows no tasks, so its stream is changed on
 * the way: the tasks are added to its first message, and their states come between its other messages.
 * @param request the request of the client
 * @param open opens the stream of the SDK
 */
export async function listenWithTasks (
  request: JsonObject, call: Call, host: Host, open: (request: JsonObject) => Promise<Response>
): Promise<Response> {
  const { id, params } = request
  const notifications = isObject(params) ? params['notifications'] : undefined
  if (!isObject(params) || !isObject(notifications)) return await open(request)
  const { taskIds, ...others } = notifications
  if (taskIds === undefined) return await open(request)
  const meta = params['_meta']
  if (!declaresTasks(isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined)) {
    const { code, message, data } = missingTasks('taskIds follows tasks')
    return refusal(id, { code, message, data })
  }
  if (!Array.isArray(taskIds) || !taskIds.every(taskId => typeof taskId === 'string')) {
    return refusal(id, { code: invalidParams, message: 'notifications/taskIds must be a list of ids of tasks' })
  }
  const accepted = await ownTasks(taskIds, call, host)
  // Without any change that it knows, the SDK would end its stream at once.
  const known = accepted.length > 0 ? { ...others, toolsListChanged: true } : others
  const response = await open({ ...request, params: { ...params, notifications: known } })
  if (response.body === null || response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
    return response
  }
  const stream = withTasks(response.body, { id, params, notifications: others }, accepted, call, host)
  return new Response(stream, { status: response.status, headers: response.headers })
}

function refusal (id: unknown, error: JsonObject): Response {
  return Response.json({ jsonrpc: '2.0', id: id ?? null, error }, { status: 400 })
}

/** The first of these tasks that the caller has. */
async function ownTasks (ids: readonly string[], call: Call, host: Host): Promise<string[]> {
  const own: string[] = []
  for (const id of new Set(ids.slice(0, followedMax))) {
    if (id === '') continue
    if (await showTask(id, call, host).catch(() => undefined) !== undefined) own.push(id)
  }
  return own
}

function withTasks (
  body: ReadableStream<Uint8Array>, wish: Wish, taskIds: readonly string[], call: Call, host: Host
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const gone = new AbortController()
  return new ReadableStream({
    async start (controller) {
      const tell = (task: JsonObject): void => {
        if (gone.signal.aborted) return
        const params = { ...task, _meta: { [SUBSCRIPTION_ID_META_KEY]: wish.id } }
        controller.enqueue(frameOf({ jsonrpc: '2.0', method: 'notifications/tasks', params }))
      }
      void pass(reader, controller, wish, taskIds, () => {
        for (const id of taskIds) void followTask(id, call, host, tell, gone.signal)
      }).finally(() => { gone.abort() })
    },
    cancel (reason) {
      gone.abort()
      return reader.cancel(reason)
    }
  })
}

/** Passes the messages of the SDK on; never rejects. @param begun called after the first message */
async function pass (
  reader: ReadableStreamDefaultReader<Uint8Array>, controller: ReadableStreamDefaultController<Uint8Array>, wish: Wish,
  taskIds: readonly string[], begun: () => void
): Promise<void> {
  try {
    for (let first = true; ; first = false) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      const frame = first ? acknowledged(value, wish, taskIds) : value
      if (first || isWanted(frame, wish)) controller.enqueue(frame)
      if (first) begun()
    }
  } catch (error) {
    controller.error(error) // which does nothing where the client has left
  }
}

/** The first message, which says what the stream follows, with the tasks. The SDK writes a message in one piece. */
function acknowledged (frame: Uint8Array, { notifications }: Wish, taskIds: readonly string[]): Uint8Array {
  const message = messageIn(frame)
  const params = message?.['params']
  const followed = isObject(params) ? params['notifications'] : undefined
  if (message === undefined || !isObject(params) || !isObject(followed)) return frame
  const { toolsListChanged, ...others } = followed
  const honored = { ...others, ...(notifications['toolsListChanged'] === true && { toolsListChanged }), taskIds }
  return frameOf({ ...message, params: { ...params, notifications: honored } })
}

/** Whether the client asked for a message: of changed tools it perhaps did not. */
function isWanted (frame: Uint8Array, { notifications }: Wish): boolean {
  return notifications['toolsListChanged'] === true
    || messageIn(frame)?.['method'] !== 'notifications/tools/list_changed'
}

function messageIn (frame: Uint8Array): JsonObject | undefined {
  const text = decoder.decode(frame)
  if (!text.startsWith(frameStart)) return undefined
  const message: unknown = JSON.parse(text.slice(frameStart.length))
  return isObject(message) ? message : undefined
}

function frameOf (message: JsonObject): Uint8Array {
  return encoder.encode(`${frameStart}${JSON.stringify(message)}\n\n`)
}
