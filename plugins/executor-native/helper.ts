import { Socket } from 'node:net'
import { Child } from './child.ts'
import { closeInheritedFiles } from './inherited.ts'
import { createDecoder } from './decoder.ts'
import { encode, readToHelper, type FromHelper, type RunMessage, type ToHelper } from './protocol.ts'
import { whyRefused } from './refusal.ts'

/**
 * The helper: a small process that starts commands for the server. Starting a process takes milliseconds, and more with
 * more memory of the parent; the helper has little memory. When the server closes the pipe or dies, the helper ends,
 * with all processes that it started. Where helper.c could be compiled, the compiled program is used instead of this
 * file.
 */

/** The descriptor of the pipe to the server. */
const pipe = 3

closeInheritedFiles()
const children = new Map<number, Child>()
const channel = new Socket({ fd: pipe, readable: true, writable: true })

// A signal that stops the server must not stop the helper: a signal to the whole terminal or service reaches both, and
// the server still drains. When the server ends, the pipe closes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

channel.on('data', createDecoder(readToHelper, take)).on('error', () => {}).on('end', end).on('close', end)

function take (message: ToHelper, payload: Buffer): void {
  switch (message.type) {
    case 'run': return run(message, payload)
    case 'stop': return children.get(message.id)?.stop()
    case 'keep_rules':
    case 'forget_rules': return // for the helper in C, which has a sandbox
    default: message satisfies never
  }
}

function run (message: RunMessage, input: Buffer): void {
  const { id } = message
  const child = new Child(message, input, {
    // Written at once: if the helper dies, the server must know which process group to end.
    started (pid) { tell({ type: 'started', id, pid }) },
    output (stream, piece) { tell({ type: 'output', id, stream }, piece) },
    refused (error) {
      children.delete(id)
      void refuse(error, message)
    },
    ended (how, stdout) {
      children.delete(id)
      tell({ type: 'ended', id, ...how }, stdout)
    }
  })
  if (!child.done) children.set(id, child)
}

async function refuse (error: NodeJS.ErrnoException, message: RunMessage): Promise<void> {
  tell({
    type: 'refused', id: message.id, why: await whyRefused(error, message), system_code: error.code ?? error.message
  })
}

function tell (message: FromHelper, payload?: Buffer): void {
  if (channel.writable) channel.write(encode(message, payload))
}

function end (): void {
  for (const child of children.values()) child.kill()
  process.exit()
}
