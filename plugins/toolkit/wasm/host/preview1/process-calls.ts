import { randomFillSync } from 'node:crypto'
import { sleep, type RunState } from '../run-state.ts'
import { errorNumbers, Exit, WasiError } from '../wasi-error.ts'
import type { Descriptors } from './descriptors.ts'
import type { GuestMemory } from './guest-memory.ts'

/** The most that is filled with random bytes at once. */
const randomBytesMax = 65_536

/** The functions of preview 1 for arguments, variables, clocks, random bytes, waiting and the end. */
export function processCalls (state: RunState, memory: GuestMemory, open: Descriptors) {
  const variables = Object.entries(state.input.env).map(([name, value]) => `${name}=${value}`)
  const refuse = (): never => { throw new WasiError('unsupported') }
  return {
    ...texts(memory, 'args', [state.name, ...state.input.args]),
    ...texts(memory, 'environ', variables),
    clock_res_get: (clock: number, pointer: number) => {
      refuseClock(clock)
      memory.setLong(pointer, 1_000n)
    },
    clock_time_get: (clock: number, _precision: bigint, pointer: number) => { memory.setLong(pointer, timeOf(clock)) },
    random_get: (pointer: number, length: number) => {
      const bytes = memory.bytes(pointer, length)
      for (let from = 0; from < bytes.length; from += randomBytesMax) {
        bytes.set(randomFillSync(Buffer.alloc(Math.min(randomBytesMax, bytes.length - from))), from)
      }
    },
    poll_oneoff: (subscriptions: number, events: number, count: number, stored: number) => {
      memory.setSize(stored, poll(memory, open, subscriptions, events, count))
    },
    sched_yield: () => {},
    proc_exit: (code: number) => { throw new Exit(code >>> 0) },
    // A signal would be one for the whole process.
    proc_raise: (signal: number) => { throw new Exit(128 + (signal & 127)) },
    sock_accept: refuse, sock_recv: refuse, sock_send: refuse, sock_shutdown: refuse
  }
}

/** The functions that hand over a list of texts. */
function texts<Name extends string> (memory: GuestMemory, name: Name, list: readonly string[]) {
  const encoded = list.map(text => Buffer.from(`${text}\0`))
  const calls: Record<string, (first: number, second: number) => void> = {
    [`${name}_sizes_get`]: (count, bytes) => {
      memory.setSize(count, encoded.length)
      memory.setSize(bytes, encoded.reduce((sum, { length }) => sum + length, 0))
    },
    [`${name}_get`]: (pointers, buffer) => {
      let at = buffer
      for (const [i, text] of encoded.entries()) {
        memory.setSize(pointers + 4 * i, at)
        memory.bytes(at, text.length).set(text)
        at += text.length
      }
    }
  }
  return calls
}

function refuseClock (clock: number): void {
  if (clock < 0 || clock > 3) throw new WasiError('invalid')
}

/** The time of a clock, in nanoseconds. */
function timeOf (clock: number): bigint {
  refuseClock(clock)
  if (clock === 0) return BigInt(Date.now()) * 1_000_000n
  return clock === 1 ? process.hrtime.bigint() : BigInt(Math.round(performance.now() * 1e6))
}

/** Waits for the first of some times; what can be read or written is so at once. @returns the number of events */
function poll (
  memory: GuestMemory, open: Descriptors, subscriptions: number, events: number, count: number
): number {
  if (count === 0 || count > 1_024) throw new WasiError('invalid')
  const list = memory.view(subscriptions, count * 48)
  const waits = Array.from({ length: count }, (_, i) => subscriptionOf(list, i * 48))
  const ready = waits.map(({ type, fd }) => type !== 0 && fd !== undefined && canBeRead(open, fd))
  if (!ready.includes(true)) {
    const shortest_ms = Math.min(...waits.map(({ wait_ms }) => wait_ms ?? Infinity))
    if (shortest_ms !== Infinity) sleep(shortest_ms)
    for (const [i, { wait_ms }] of waits.entries()) ready[i] = wait_ms === undefined || wait_ms <= shortest_ms
  }
  const found = waits.filter((_, i) => ready[i])
  for (const [i, { userdata, type, fd }] of found.entries()) {
    const view = memory.view(events + i * 32, 32)
    for (let at = 0; at < 32; at += 8) view.setBigUint64(at, 0n)
    view.setBigUint64(0, userdata, true)
    view.setUint16(8, fd !== undefined && !canBeRead(open, fd) ? errorNumbers['bad-descriptor'] : 0, true)
    view.setUint8(10, type)
    if (type !== 0) view.setBigUint64(16, 1n, true)
  }
  return found.length
}

function subscriptionOf (list: DataView, at: number) {
  const userdata = list.getBigUint64(at, true)
  const type = list.getUint8(at + 8)
  if (type > 2) throw new WasiError('invalid')
  if (type !== 0) return { userdata, type, fd: list.getUint32(at + 16, true), wait_ms: undefined }
  const clock = list.getUint32(at + 16, true)
  const given_ns = list.getBigUint64(at + 24, true)
  const until = (list.getUint16(at + 40, true) & 1) !== 0
  const wait_ns = until ? given_ns - timeOf(clock) : given_ns
  return { userdata, type, fd: undefined, wait_ms: Math.max(0, Number(wait_ns) / 1e6) }
}

function canBeRead (open: Descriptors, fd: number): boolean {
  try {
    return open.of(fd).kind !== 'folder'
  } catch {
    return false
  }
}
