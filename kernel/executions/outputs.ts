import { open } from 'node:fs/promises'
import type { Outputs, StoredOutput } from '../contracts/outputs.ts'
import type { Execution } from '../contracts/schemas.ts'
import type { Storage } from '../contracts/storage.ts'
import type { ByteRange } from '../lib/byte-range.ts'
import { messageOf, SkilletError } from '../lib/errors.ts'
import { isAbsent } from '../lib/file.ts'
import { decodeJson } from '../lib/json.ts'
import type { Scope } from '../lib/scope.ts'
import { Selections } from '../lib/select/selections.ts'
import type { OutputFiles } from './output-files.ts'
import { executionNotFound } from './record.ts'
import { isFinal } from './transitions.ts'

/** What all calls of a process may hold of outputs in their parameters, in bytes. */
export const heldBytesMax = 256 * 1_048_576
/** The processes that apply expressions of handles: an output of 16 MiB takes many times that as values. */
const selectorLimits = { memoryMiB: 1_024, heapMiB: 640 } as const
/** How much of a file is read at a time, in bytes. */
const piece_bytes = 65_536

/** Opens the outputs of a kernel. @param scope ends the processes that handles need */
export function openOutputs (
  storage: Pick<Storage, 'get'>, files: Pick<OutputFiles, 'pathOf'>, scope: Scope
): Outputs {
  const selections = new Selections(selectorLimits)
  scope.defer(() => selections.close())
  return outputsOf(storage, files, selections)
}

/** The whole outputs of the executions in a storage. @param selections apply expressions to them */
export function outputsOf (
  storage: Pick<Storage, 'get'>, files: Pick<OutputFiles, 'pathOf'>, selections: Pick<Selections, 'select'>
): Outputs {
  let held_bytes = 0
  return {
    async open (id) {
      const stored = await storage.get(id)
      if (stored === undefined) throw executionNotFound(id)
      const { execution } = stored
      if (!isFinal(execution.status)) {
        const message = `The execution ${id} is ${execution.status}; its output is there when it has ended`
        throw new SkilletError('CONFLICT', message, { execution_id: id, status: execution.status })
      }
      return execution.output_file_bytes === undefined
        ? inRecord(execution)
        : await inFile(execution, execution.output_file_bytes, files.pathOf(id))
    },
    async select (text, expression) {
      const selection = await selections.select({ text, jmespath: expression, json: true })
      if (!('text' in selection)) throw invalid('invalid' in selection ? selection.invalid : selection.failure)
      return { value: valueOf(selection.text), bytes: Buffer.byteLength(selection.text) }
    },
    hold (bytes) {
      if (held_bytes + bytes > heldBytesMax) {
        const limit = `${heldBytesMax} bytes may be held at once`
        throw new SkilletError('OVERLOADED', `Running calls hold ${held_bytes} bytes of outputs, and ${limit}`)
      }
      held_bytes += bytes
      return () => { held_bytes -= bytes }
    }
  }
}

/** Parses what was selected: it may nest as deep as parameters may. @throws SkilletError INVALID_PARAMETERS */
function valueOf (json: string): unknown {
  try {
    return decodeJson(Buffer.from(json))
  } catch (error) {
    throw invalid(messageOf(error).replace(/^body/, 'what it selects'))
  }
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}

function inRecord ({ id, output, finished_at, created_at }: Execution): StoredOutput {
  const bytes = Buffer.from(output)
  return {
    execution_id: id,
    bytes: bytes.length,
    ended_at: finished_at ?? created_at,
    read: ({ from, to }) => new ReadableStream({
      start (controller) {
        if (to > from) controller.enqueue(bytes.subarray(from, to))
        controller.close()
      }
    })
  }
}

/** @param bytes as the record has it @throws SkilletError OUTPUT_NOT_FOUND */
async function inFile (
  { id, finished_at, created_at }: Execution, bytes: number, path: string | undefined
): Promise<StoredOutput> {
  const gone = new SkilletError(
    'OUTPUT_NOT_FOUND',
    `The file with the whole output of ${id} is not there any more; the record has its beginning`,
    { execution_id: id }
  )
  if (path === undefined) throw gone
  try {
    const file = await open(path)
    const { size } = await file.stat().finally(() => file.close())
    if (size !== bytes) throw gone
  } catch (error) {
    throw isAbsent(error) ? gone : error
  }
  return {
    execution_id: id, bytes, ended_at: finished_at ?? created_at,
    read: range => readFile(path, range)
  }
}

/** Reads a part of a file as fast as its reader takes it. */
function readFile (path: string, { from, to }: ByteRange): ReadableStream<Uint8Array> {
  let at = from
  let file: Awaited<ReturnType<typeof open>> | undefined
  return new ReadableStream({
    async pull (controller) {
      try {
        file ??= await open(path)
        const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(piece_bytes, to - at)), 0, null, at)
        at += bytesRead
        if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead))
        if (at < to && bytesRead > 0) return
        await file.close()
        if (at < to) controller.error(new Error('the file is shorter than its record says'))
        else controller.close()
      } catch (error) {
        await file?.close().catch(() => {})
        controller.error(error)
      }
    },
    async cancel () { await file?.close() }
  }, { highWaterMark: 1 })
}
