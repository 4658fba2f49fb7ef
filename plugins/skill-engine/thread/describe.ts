import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MessagePort, workerData } from 'node:worker_threads'
import { parsedValue, skillModuleOf, type SkillModule } from '../run/skill-module.ts'
import { bundle, CodeFault } from './bundle.ts'
import { replyMax, type DescribeData, type DescribeReply, type FaultKind } from './protocol.ts'

/**
 * The thread that describes one skill: it builds the code, runs it, and sends one message. The main thread checks that
 * message like any data from outside, and ends the thread.
 */
const { entry, cache_dir, port }: DescribeData = workerData // only describer.ts starts this thread
for (const key of Object.keys(workerData)) Reflect.deleteProperty(workerData, key)
const { stringify } = JSON
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
    built = await bundle(entry, cache_dir)
  } catch (error) {
    return fault('code-error', error instanceof CodeFault ? error.message : `${name}: ${messageOf(error)}`)
  }
  let loaded: unknown
  try {
    const { load } = await import(pathToFileURL(join(cache_dir, built.file)).href) as { load: () => Promise<unknown> }
    loaded = await load()
  } catch (error) {
    return fault('code-error', `${name} failed while it was imported: ${messageOf(error)}`)
  }
  let skill: SkillModule
  try {
    skill = skillModuleOf(loaded)
  } catch (error) {
    return fault('exports-missing', `${name}: ${error instanceof Error ? error.message : messageOf(error)}`)
  }
  try {
    const metadata = parsedValue(await skill.getMetadata?.())
    const tools = parsedValue(await skill.getTools())
    return { description: { ...built, metadata, tools } }
  } catch (error) {
    return fault('tools-invalid', `${name}: getMetadata() or getTools() failed: ${messageOf(error)}`)
  }
}

function textOf (reply: DescribeReply): string {
  try {
    const text = stringify(reply)
    if (text.length <= replyMax) return text
    return stringify(fault('tools-invalid', `getTools() returns more than ${replyMax} characters`))
  } catch (error) {
    return stringify(fault('tools-invalid', `getTools() returns what is no JSON: ${messageOf(error)}`))
  }
}

function fault (kind: FaultKind, message: string): DescribeReply {
  return { fault: kind, message: message.slice(0, 2_000) }
}

function messageOf (error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.split('\n', 1)[0] ?? ''
}
