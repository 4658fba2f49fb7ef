import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate } from 'node:timers'
import { getHeapStatistics } from 'node:v8'
import { MessageChannel, parentPort, workerData } from 'node:worker_threads'
import { Board, claims } from './board.ts'
import type { Ended, Message, Of, Result, ThreadData } from './protocol.ts'
import { performBatch } from './thread-batch.ts'
import { captureOutput } from './thread-capture.ts'
import { Execution } from './thread-execution.ts'
import { activeCount, leftOpen, noteHiddenTimers, whenClosed } from './thread-leftovers.ts'
import { isLoaded, load, toolOf, urlOf } from './thread-modules.ts'
import { isThenable, settled } from './thread-promise.ts'
import { failureOf, messageOfThrow, resultOf } from './thread-text.ts'

/**
 * The script thread: the default export runs one tool, or a batch of short ones. Whatever the tool does, the result is the tool's own; what it
 * leaves open is told, so that the thread is not given to anybody else.
 */

const port = parentPort
if (port === null) throw new Error('this module runs in a worker thread')
const data: ThreadData = workerData
const send = (message: Message): void => { port.postMessage(message) }
const board = new Board(data.board)
const environment = { ...process.env }

/** Whose code runs, through every await and callback; readable in the handlers of stray errors, too. */
const owner = new AsyncLocalStorage<Execution>()
let current: Execution | undefined

const flush = captureOutput((level, text) => { (owner.getStore() ?? current)?.log(level, text) })
noteHiddenTimers()
process.on('exit', () => { board.leave() })
process.on('uncaughtException', stray)
process.on('unhandledRejection', stray)

const { port1, port2 } = new MessageChannel()
port1.on('message', (message: Message) => {
  if (message.type === 'ask' && current?.message.run === message.run) current.ask()
})
port1.unref()
port.postMessage({ type: 'ready', port: port2 } satisfies Message, [port2])

/** An error nobody caught fails the execution it comes from, while that runs; it never touches another. */
function stray (error: unknown): void {
  // A throw in a bare microtask has lost its owner: only the running execution can have made it.
  const execution = owner.getStore() ?? current
  if (execution !== undefined && !execution.ended && execution.fail !== undefined) execution.fail(error)
  else send({ type: 'stray', text: execution === undefined ? messageOfThrow(error) : `${execution.message.execution_id}: ${messageOfThrow(error)}` })
}

export default async function run (message: Of<'run'> | Of<'batch'> | Of<'ping'>): Promise<Ended | null> {
  switch (message.type) {
    case 'run': return await runAlone(message)
    case 'batch': return await performBatch(message, board, data.output_bytes_max, host)
    case 'ping': return null
  }
}

const host = { send, begin, as: <T>(execution: Execution, call: () => T): T => owner.run(execution, call), end, keepsTooMuch }

/** From now on an execution is the thread's. */
function begin (execution: Execution, env: Record<string, string>): void {
  current = execution
  // A plain object: whatever tools do to it is gone when the next run begins.
  process.env = { ...environment, ...env }
}

/** Nothing is heard of it any more. */
function end (execution: Execution): void {
  flush()
  execution.end()
  current = undefined
}

async function runAlone (message: Of<'run'>): Promise<Ended | null> {
  const execution = new Execution(message, send)
  const before = activeCount()
  begin(execution, message.env)
  const { result, ran_ms, over } = await owner.run(execution, perform, execution, message)
  end(execution)
  const spent = !over || keepsTooMuch(ran_ms)
  const settling = !spent && leftOpen(before)
  const ended: Ended = { type: 'ended', run: message.run, result, ran_ms, thread: spent ? 'spent' : settling ? 'settling' : 'free' }
  if (!spent && !settling && !execution.spoke) return ended
  send(ended)
  if (settling) whenClosed(before, () => { send({ type: 'clean', run: message.run }) })
  return null
}

let short = 0

/** Whether tools have left so much in memory that the next would have too little. Not asked after every short run: it costs as much as one. */
function keepsTooMuch (ran_ms: number): boolean {
  if (ran_ms < 1 && ++short % 64 !== 0) return false
  return getHeapStatistics().used_heap_size > data.heap_bytes_kept_max
}

/** A result; `over` says whether the thread came out of it whole: nothing runs on, nothing is half loaded. */
interface Performed { result: Result, ran_ms: number, over: boolean }

async function perform (execution: Execution, message: Of<'run'>): Promise<Performed> {
  const url = urlOf(message.module, message.revision)
  let from: number = claims.dispatched
  if (!isLoaded(url)) {
    if (!board.move(0, claims.dispatched, claims.loading)) return recalled
    from = claims.loading
    send({ type: 'loading', run: message.run })
    const failure = await settled(execution, () => load(url))
    if ('error' in failure) return { result: failureOf(failure.error, 'the module did not load: '), ran_ms: 0, over: false }
  }
  let tool
  try {
    tool = toolOf(url, message.tool)
  } catch (error) {
    return { result: failureOf(error), ran_ms: 0, over: true }
  }
  if (!board.begin(0, from)) return recalled
  send({ type: 'started', run: message.run })
  // Asked for before the tool can ask: what it puts off to the end of its turn is still its own, what to later ones is left behind.
  const turn = new Promise(resolve => { setImmediate(resolve) })
  const began_ms = performance.now()
  try {
    const value = tool(message.parameters, execution.context())
    if (!isThenable(value)) {
      const performed = { result: resultOf(value, data.output_bytes_max), ran_ms: performance.now() - began_ms, over: true }
      await turn
      return performed
    }
    const end = await settled(execution, () => value, () => { send({ type: 'waiting', run: message.run }) })
    const result = 'error' in end ? failureOf(end.error) : resultOf(end.value, data.output_bytes_max)
    return { result, ran_ms: performance.now() - began_ms, over: end.over }
  } catch (error) {
    return { result: failureOf(error), ran_ms: performance.now() - began_ms, over: true }
  }
}

const recalled: Performed = { result: { kind: 'recalled' }, ran_ms: 0, over: true }
