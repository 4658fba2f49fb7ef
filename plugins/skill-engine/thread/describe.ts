import { basename, join } from 'node:path'
import { MessagePort, workerData } from 'node:worker_threads'
import { memoryBytesMax } from '../../toolkit/wasm/memory-limit.ts'
import { bundle } from './bundle.ts'
import { CodeFault } from './code-fault.ts'
import { describeCode, faultOf, messageOf, textOf } from './describe-code.ts'
import type { DescribeData, DescribeReply } from './protocol.ts'

/**
 * The thread that describes one skill: it builds the code, runs it where it may run here, and sends one message. The
 * main thread checks that message like any data from outside, and ends the thread.
 */
// Only describer.ts starts this thread.
const { entry, cache_dir, heap_bytes_max, runs, port }: DescribeData = workerData
for (const key of Object.keys(workerData)) Reflect.deleteProperty(workerData, key)
const { postMessage } = MessagePort.prototype
const { apply } = Reflect
/** How long the thread waits for its end, in milliseconds. */
const wait_ms = 60_000

const reply = await describe()
apply(postMessage, port, [textOf(reply)])
setTimeout(() => {}, wait_ms) // so that the message arrives before the end of the thread

async function describe (): Promise<DescribeReply> {
  const name = basename(entry)
  let built
  try {
    built = await bundle(entry, cache_dir, memoryBytesMax(heap_bytes_max))
  } catch (error) {
    return faultOf('code-error', error instanceof CodeFault ? error.message : `${name}: ${messageOf(error)}`)
  }
  if (!runs) return { description: { ...built, metadata: undefined, tools: undefined } }
  const told = await describeCode(name, join(cache_dir, built.file))
  return 'fault' in told ? told : { description: { ...built, ...told } }
}
