import { frameOf } from '../sandbox/frames.ts'
import { wholeWriter } from '../sandbox/write-whole.ts'

/** The descriptor of the channel to the server. */
const descriptor = 3

/** What the server told the process in its first argument. */
export interface Given<Data> {
  /** The absolute path of the module, as this process finds it; undefined when it only tries the sandbox out. */
  module?: string
  data: Data
}

/**
 * Reads one module in a process that `ConfinedModules` started, and reports what was found. This file imports nothing
 * of the kernel: it would take most of the time of the process.
 * @param read imports the module. What it returns is sent as JSON; it must not throw
 */
export async function reportModule<Data> (read: (module: string, data: Data) => Promise<object>): Promise<void> {
  const write = wholeWriter(descriptor)
  const exit = process.exit.bind(process)
  const { module, data } = JSON.parse(process.argv[2] ?? '') as Given<Data> // written by the server
  process.argv.length = 2
  process.execArgv = []
  write(frameOf({ type: 'ready' }))
  if (module === undefined) return
  const found = await read(module, data)
  write(frameOf({ type: 'found', found }))
  exit(0)
}
