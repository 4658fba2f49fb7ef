import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

/** How many commands run at once: as many as the executor runs by default. */
const concurrency = 4 * availableParallelism()

/**
 * Runs something again and again, many at once, for so many seconds.
 * @returns how often, and the rate in runs a second
 */
export async function rateOf (run: () => Promise<void>, seconds: number): Promise<{ runs: number, rate: number }> {
  const began = performance.now()
  let runs = 0
  await Promise.all(Array.from({ length: concurrency }, async () => {
    while (performance.now() - began < seconds * 1000) {
      await run()
      runs++
    }
  }))
  return { runs, rate: runs / (performance.now() - began) * 1000 }
}

/** Runs a command by Node's own `spawn`. @throws Error when it fails */
export async function spawned (program: string, args: readonly string[] = []): Promise<void> {
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.resume()
  child.stderr.resume()
  const [code] = await once(child, 'close') as [number | null]
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}
