import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of a process's main thread so far, without its other threads, in microseconds. Linux only. */
export function mainThread_us (pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

export interface Memory {
  /** All memory, each shared page divided among those that share it, in bytes. */
  total: number
  /**
   * Of that, what is in no file: heaps, stacks, buffers. Pages of the history's file are the system's cache, and are
   * not in it.
   */
  own: number
  processes: number
}

/** Memory of a process and all that descend from it. Linux only. */
export function memoryOf (pid: number): Memory {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = read(`/proc/${name}/stat`)
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...children.get(parent) ?? [], Number(name)])
  }
  const all = [pid]
  for (const one of all) all.push(...children.get(one) ?? [])
  const sum = { total: 0, own: 0, processes: 0 }
  for (const one of all) {
    const text = read(`/proc/${one}/smaps_rollup`)
    if (text === '') continue
    const of = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0)
    sum.total += of('Pss')
    sum.own += of('Pss_Anon')
    sum.processes++
  }
  return sum
}

/** Empty when the process is gone meanwhile. */
function read (file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
