/** The entry of the thread that makes the index of words, and answers from it. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../../kernel/index.ts'
import { openRows } from '../environment.ts'
import type { FromThread, ThreadData, ToThread } from './protocol.ts'
import { RowReader } from './row-reader.ts'
import { WordIndex } from './word-index.ts'

/** The niceness of this thread: threads that answer requests need a core for a moment only, and go first. */
const nice = 5

const port = parentPort
if (port === null) throw new Error('this file is the entry of a thread')
if (process.platform === 'linux') setPriority(nice) // on other systems it would apply to the whole process
const { file, folder } = workerData as ThreadData // made by text-search.ts
const post = (message: FromThread): void => { port.postMessage(message) }
const rows = new RowReader(openRows(file))
const index = new WordIndex(folder, rows, message => { post({ type: 'stuck', message }) })

port.on('message', (message: ToThread) => {
  if (message.type === 'end') void end()
  else void find(message)
})

async function find ({ id, words, patience_ms }: Extract<ToThread, { type: 'find' }>): Promise<void> {
  try {
    post({ type: 'found', id, found: await index.find(words, patience_ms) })
  } catch (error) {
    post({ type: 'failed', id, message: messageOf(error) })
  }
}

async function end (): Promise<void> {
  await index.end()
  await rows.close()
  port?.close()
}
