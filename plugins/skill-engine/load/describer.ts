import { basename, join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { endThread, isObject, letThreadsEnd, type JsonObject } from '../../../kernel/index.ts'
import type { ConfinedModules } from '../../toolkit/describing/confined-modules.ts'
import { mayBeRefused } from '../../toolkit/sandbox/advice.ts'
import type { EngineTrust } from './engine-trust.ts'
import type { CodeData } from '../process/entry.ts'
import {
  faultKinds, replyMax, type CodeDescription, type DescribeData, type DescribeFault, type DescribeReply
} from '../thread/protocol.ts'

export interface DescribeOptions {
  cache_dir: string
  /** How long building and describing one skill may take, in milliseconds. */
  limit_ms: number
  /** Memory of the code, in bytes. */
  heap_bytes_max: number
  /** Runs the code of skills that are confined. */
  modules: ConfinedModules
  trust: EngineTrust
}

/** The code of a skill. */
export interface Code {
  /** Absolute path. */
  entry: string
  /** The folder of the skill. */
  folder: string
  /** The variables that it sees while it is described. */
  env: Readonly<Record<string, string>>
}

/** The heap for building, in MiB. */
const own_mib = 64
/** Variables that each thread sees, beside those of the skill. */
const always = /^(PATH|LANG|TZ|TMPDIR|LC_.*)$/

/**
 * Describes the code of a skill in a process of its own in the sandbox. Only the build happens in a thread.
 * @returns a fault for whatever the code does
 */
export async function describeConfined (
  code: Code, options: DescribeOptions, signal: AbortSignal
): Promise<DescribeReply> {
  const { entry, folder, env } = code
  const { cache_dir, modules } = options
  const built = await describeInThread(code, false, options, signal)
  if ('fault' in built) return built
  const { file, inputs } = built.description
  const fail = (message: string): DescribeReply => ({ fault: 'code-error', message: `${entry}: ${message}` })
  const secret = modules.secretAmong(inputs)
  if (secret !== undefined) return fail(`it imports ${secret}, which only trusted skills may read`)
  const report = await modules.read({
    module: join(cache_dir, file), data: { name: basename(entry) } satisfies CodeData, env,
    skill: { name: basename(folder), directory: folder, revision: file, permissions: { env: [] } }
  })
  if ('fault' in report) return fail(report.fault)
  const reply = isObject(report.found) ? readTold(report.found['text']) : odd
  if (!('fault' in reply)) {
    return { description: { file, inputs, metadata: reply.told['metadata'], tools: reply.told['tools'] } }
  }
  if (!mayBeRefused(reply.message)) return reply
  const remedy = 'change it, or name its directory in plugin.skill-engine.trusted'
  return { ...reply, message: `${reply.message}; it is described in a sandbox: ${remedy}` }
}

/**
 * Builds the code of a skill in a thread of its own, which does nothing else.
 * @param runs whether the code is run there too, and described
 * @returns a fault for whatever the code does: it throws, hangs, ends the thread, or uses too much memory
 */
export async function describeInThread (
  { entry, env }: Code, runs: boolean, options: DescribeOptions, signal: AbortSignal
): Promise<DescribeReply> {
  signal.throwIfAborted()
  letThreadsEnd()
  const { cache_dir, limit_ms, heap_bytes_max } = options
  const { port1, port2 } = new MessageChannel()
  const base = Object.entries(process.env).filter(([name]) => always.test(name))
  const worker = new Worker(new URL('../thread/describe.js', import.meta.url), {
    workerData: { entry, cache_dir, heap_bytes_max, runs, port: port2 } satisfies DescribeData,
    transferList: [port2],
    resourceLimits: {
      maxOldGenerationSizeMb: Math.ceil(heap_bytes_max / 1_048_576) + own_mib, maxYoungGenerationSizeMb: 32
    },
    env: { ...Object.fromEntries(base), ...env },
    execArgv: [],
    stdin: false,
    stdout: true, // what a module prints must not be mixed with the program's output
    stderr: true
  })
  worker.stdout.resume()
  worker.stderr.resume()
  const stopped = new AbortController()
  try {
    return await new Promise<DescribeReply>((resolve, reject) => {
      const fail = (message: string): void => { resolve({ fault: 'code-error', message: `${entry}: ${message}` }) }
      const timer = setTimeout(() => { fail(`it took longer than ${limit_ms / 1000} s to describe`) }, limit_ms)
      stopped.signal.addEventListener('abort', () => { clearTimeout(timer) }, { once: true })
      signal.addEventListener('abort', () => { reject(signal.reason as Error) }, { signal: stopped.signal })
      port1.on('message', value => { resolve(readReply(value)) })
      worker.on('error', (error: unknown) => { fail(errorText(error)) })
      worker.on('exit', code => { fail(`it ended its thread with code ${code}`) })
    })
  } finally {
    stopped.abort()
    port1.close()
    await endThread(worker)
  }
}

function errorText (error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return 'it used up the memory it may have'
  }
  const text = error instanceof Error ? error.message : String(error)
  return `it threw where nothing caught it: ${text.slice(0, 500).split('\n', 1)[0] ?? ''}`
}

/** Stands for a message that makes no sense. */
const odd: DescribeFault = { fault: 'code-error', message: 'the code sent the server a message while it was described' }

/** Checks the message of a thread in which foreign code ran. */
function readReply (value: unknown): DescribeReply {
  const reply = readTold(value)
  if ('fault' in reply) return reply
  const description = readDescription(reply.told['description'])
  return description === undefined ? odd : { description }
}

/** The text of a message as the value that it is, or the fault that it tells. */
function readTold (value: unknown): { told: JsonObject } | DescribeFault {
  if (typeof value !== 'string' || value.length > replyMax) return odd
  let reply: unknown
  try {
    reply = JSON.parse(value)
  } catch {
    return odd
  }
  if (!isObject(reply)) return odd
  const kind = faultKinds.find(kind => kind === reply['fault'])
  if (kind !== undefined) return { fault: kind, message: String(reply['message']).slice(0, 2_000) }
  return { told: reply }
}

/** A description with a file of the cache, from a thread or from a receipt; undefined for anything else. */
export function readDescription (value: unknown): CodeDescription | undefined {
  if (!isObject(value)) return undefined
  const { file, inputs, metadata, tools } = value
  if (typeof file !== 'string' || !/^[0-9a-f]{64}\.mjs$/.test(file)) return undefined
  if (!Array.isArray(inputs) || inputs.length > 10_000) return undefined
  const paths = inputs.filter(path => typeof path === 'string')
  return paths.length === inputs.length ? { file, inputs: paths, metadata, tools } : undefined
}
