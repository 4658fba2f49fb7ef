import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate } from 'node:timers'
import { getHeapStatistics } from 'node:v8'
import { claims, type Claims } from '../shared/board.ts'
import {
  speech, type Ended, type FromThread, type Of, type ThreadData, type ToolResult, type ToThread
} from '../shared/protocol.ts'
import { performBatch } from './batch.ts'
import { captureOutput } from './capture.ts'
import { Execution } from './execution.ts'
import { activeCount, leftOpen, noteHiddenTimers, whenClosed } from './leftovers.ts'
import { isLoaded, load, toolOf, urlOf } from './modules.ts'
import { isThenable, settled } from './promise.ts'
import { failureOf, messageOfThrow, resultOf } from './text.ts'

/** What runs tools is given of where it runs: a script thread, or a process of its own. */
export interface Home {
  data: Pick<ThreadData, 'output_bytes_max' | 'memory_bytes_kept_max'>
  board: Claims
  send (message: FromThread): void
  /** Ends it, since a tool broke what it runs on. */
  giveUp (): void
}

let home: Home
const environment = { ...process.env }
/** What is imported of Node a tool may replace. */
const heapStatistics = getHeapStatistics
const immediate = setImmediate

/** Whose code runs, through every await and callback; readable in the handlers of stray errors, too. */
const owner = new AsyncLocalStorage<Execution>()
let current: Execution | undefined
let flush = (): void => {}

/**
 * Makes this thread or process one that runs tools: one tool, or a batch of short ones, at a time. Whatever a tool
 * does, the result is the tool's own; what it leaves open is told, so that the thread is not given to anybody else.
 * @returns what takes the messages of the server
 */
export function serve (where: Home): (message: ToThread) => void {
  home = where
  flush = captureOutput((level, text) => { (owner.getStore() ?? current)?.log(level, text) })
  noteHiddenTimers()
  process.on('uncaughtException', stray)
  process.on('unhandledRejection', stray)
  return message => { void takeSafely(message) }
}

/** Without `catch`: a tool may have replaced it. */
async function takeSafely (message: ToThread): Promise<void> {
  try {
    await take(message)
  } catch {
    home.giveUp()
  }
}

let strays = 0

/** An error nobody caught fails the execution it comes from, while that runs; it never touches another. */
function stray (error: unknown): void {
  // A throw in a bare microtask has lost its owner: only the running execution can have made it.
  const execution = owner.getStore() ?? current
  if (execution !== undefined && !execution.ended && execution.fail !== undefined) {
    execution.fail(error)
  } else if (++strays <= speech.strays) {
    home.send({
      type: 'stray',
      text: execution === undefined
        ? messageOfThrow(error)
        : `${execution.message.execution_id}: ${messageOfThrow(error)}`
    })
  }
}

async function take (message: ToThread): Promise<void> {
  switch (message.type) {
    case 'run': return await runAlone(message)
    case 'batch': return performBatch(message, home.board, home.data.output_bytes_max, host)
    case 'ask':
      if (current?.message.run === message.run) current.ask()
      return
    case 'ping': return home.send({ type: 'pong' })
  }
}

const host = {
  send (message: FromThread): void { home.send(message) },
  begin, as: <T>(execution: Execution, call: () => T): T => owner.run(execution, call), end, keepsTooMuch,
  giveUp (): void { home.giveUp() }
}

/** From now on an execution is the thread's. */
function begin (execution: Execution, env: Record<string, string>): void {
  current = execution
  strays = 0
  // A plain object: whatever tools do to it is gone when the next run begins.
  process.env = { ...environment, ...env }
}

/** Nothing is heard of it any more. */
function end (execution: Execution): void {
  flush()
  execution.end()
  current = undefined
}

async function runAlone (message: Of<'run'>): Promise<void> {
  const { send } = home
  const execution = new Execution(message, send)
  const before = activeCount()
  begin(execution, message.env)
  const { result, ran_ms, over } = await owner.run(execution, perform, execution, message)
  end(execution)
  const spent = !over || keepsTooMuch()
  const settling = !spent && leftOpen(before)
  const ended: Ended = {
    type: 'ended', run: message.run, result, ran_ms, thread: spent ? 'spent' : settling ? 'settling' : 'free'
  }
  send(ended)
  if (settling) whenClosed(before, () => { send({ type: 'clean', run: message.run }) })
}

/**
 * Whether tools have left so much in memory that the next would have too little. Not to be asked after every short run:
 * it costs as much as one.
 */
function keepsTooMuch (): boolean {
  return heapStatistics().used_heap_size + externalBytes() > home.data.memory_bytes_kept_max
}

/** Bytes of buffers and the like, which stand outside V8's heap. Shared ones are counted nowhere. */
export function externalBytes (): number {
  return heapStatistics().external_memory
}

/** A result; `over` says whether the thread came out of it whole: nothing runs on, nothing is half loaded. */
interface Performed { result: ToolResult | { kind: 'recalled' }, ran_ms: number, over: boolean }

async function perform (execution: Execution, message: Of<'run'>): Promise<Performed> {
  const { board, send, data } = home
  const url = urlOf(message.module, message.revision)
  let from: number = claims.dispatched
  if (!isLoaded(url)) {
    if (!board.move(0, claims.dispatched, claims.loading)) return recalled
    from = claims.loading
    send({ type: 'loading', run: message.run })
    const failure = await settled(execution, () => load(url))
    if ('error' in failure) {
      return { result: failureOf(failure.error, 'the module did not load: '), ran_ms: 0, over: false }
    }
  }
  let tool
  try {
    tool = toolOf(url, message.tool)
  } catch (error) {
    return { result: failureOf(error), ran_ms: 0, over: true }
  }
  if (!board.begin(0, from)) return recalled
  send({ type: 'started', run: message.run })
  // Asked for before the tool can ask: what it puts off to the end of its turn is still its own, what to later ones is
  // left behind.
  const turnEnd = new Promise(resolve => { immediate(resolve) })
  const began_ms = performance.now()
  try {
    const value = tool(message.parameters, execution.context())
    if (!isThenable(value)) {
      const result = resultOf(value, data.output_bytes_max)
      const performed = { result, ran_ms: performance.now() - began_ms, over: true }
      await turnEnd
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
