import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { compile, search } from '@jmespath-community/jmespath'
import { RE2JS } from 're2js'
import { selectedMax, type Answer, type Selecting, type Selection } from './selection.ts'

/**
 * The process that a `Selector` starts. It answers each message, which is a line of JSON, with one line. While an
 * expression runs, the event loop is blocked; so a thread ends the process when it uses too much memory, or when its
 * parent has ended.
 */
const bytesMax = Number(process.argv[2]) * 1_048_576
const watch = `
const parent = process.ppid
const bytesMax = ${bytesMax}
setInterval(() => { if (process.memoryUsage.rss() > bytesMax || process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 10)`

new Worker(watch, { eval: true, stdout: false, stderr: false }).unref()

/** The descriptor of the pipe to the parent. */
const pipe = 3
const channel = new Socket({ fd: pipe, readable: true, writable: true })
let message: Buffer[] = []
channel.on('data', (chunk: Buffer) => {
  message.push(chunk)
  if (chunk.at(-1) !== 10) return // the message is not complete; only one comes at a time
  // a Selector wrote it, so it is valid
  const selection = answer(JSON.parse(Buffer.concat(message).toString()) as Selecting)
  message = []
  channel.write(`${JSON.stringify({ selection, spent: process.memoryUsage.rss() > bytesMax / 2 } satisfies Answer)}\n`)
})
for (const event of ['end', 'error']) channel.on(event, () => { process.exit() })

function answer ({ text, grep, jmespath, json = false }: Selecting): Selection {
  let pattern: RE2JS | undefined
  let field = 'grep'
  try {
    if (grep !== undefined) pattern = RE2JS.compile(grep)
    field = 'jmespath'
    if (jmespath !== undefined) compile(jmespath)
  } catch (error) {
    return { invalid: `${field} is not valid: ${messageOf(error)}` }
  }
  if (text === undefined) return { text: '' }
  let chosen = text
  if (jmespath !== undefined) {
    let data
    try {
      data = JSON.parse(text)
    } catch {
      return { failure: 'jmespath was not applied: the output is not JSON' }
    }
    try {
      const match = search(data, jmespath)
      chosen = typeof match === 'string' && !json ? match : JSON.stringify(match ?? null, undefined, json ? 0 : 1)
    } catch (error) {
      return { failure: `jmespath was not applied: ${messageOf(error)}` }
    }
  }
  if (pattern !== undefined) chosen = chosen.split('\n').filter(line => pattern.matcher(line).find()).join('\n')
  return chosen.length > selectedMax
    ? { failure: `nothing was selected: it is longer than ${selectedMax} characters` }
    : { text: chosen }
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
