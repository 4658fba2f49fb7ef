import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A `.cpuprofile` of V8, as far as it is used:
 * https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile
 */
interface Profile {
  nodes: { id: number, callFrame: { functionName: string, url: string }, children?: number[] }[]
  /** The node that was on top at each sample. */
  samples: number[]
  /** Microseconds since the sample before. */
  timeDeltas: number[]
}

/** A function on the stack; V8 has `(idle)`, `(garbage collector)` and `(program)` for what is none. */
export interface Frame { name: string, url: string }

/**
 * What the main thread of a process did, by part, in shares of the time in which it was not idle. Looks at the last
 * time it worked without a pause of `pause_us`, so that the start and what warmed it up do not count.
 * @param folder given to `--cpu-prof-dir`
 * @param partOf tells the part of a stack, from the innermost function outwards
 * @throws Error where there is no profile
 */
export function sharesOf (
  folder: string,
  partOf: (stack: readonly Frame[]) => string,
  pause_us = 300_000
): Map<string, number> {
  const file = readdirSync(folder).find(name => /^CPU\.\d+\.\d+\.\d+\.0\.\d+\.cpuprofile$/.test(name)) // of thread 0
  if (file === undefined) throw new Error(`there is no profile of a main thread in ${folder}`)
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])))
  const frames = new Map(nodes.map(({ id, callFrame: { functionName, url } }) => [id, { name: functionName, url }]))
  const parts = new Map<number, string>()
  for (const id of frames.keys()) {
    const stack: Frame[] = []
    // Every caller is a node.
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) stack.push(frames.get(at) as Frame)
    parts.set(id, stack[0]?.name === '(idle)' ? '' : partOf(stack))
  }
  let spent = new Map<string, number>()
  let last = spent
  let idle_us = 0
  const close = (): void => {
    if (sum(spent) > sum(last) / 4) last = spent // what it does to stop is little
    spent = new Map()
  }
  samples.forEach((id, index) => {
    const us = timeDeltas[index + 1] ?? 0
    const part = parts.get(id) ?? ''
    if (part !== '') {
      idle_us = 0
      spent.set(part, (spent.get(part) ?? 0) + us)
    } else if ((idle_us += us) > pause_us && spent.size > 0) close()
  })
  close()
  const whole = sum(last)
  return new Map([...last].map(([part, us]) => [part, us / whole]))
}

function sum (numbers: Map<string, number>): number {
  return [...numbers.values()].reduce((a, b) => a + b, 0)
}
