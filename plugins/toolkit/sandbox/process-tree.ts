import { readFileSync } from 'node:fs'

/** What the system tells of a confined process and of those below it. */

/** The most processes that are counted: a tool that starts more has its time limit. */
const processesMax = 256

/**
 * Memory of a process and all below it, in bytes, without that of files, which others share. Where a process has
 * ended, it counts nothing.
 */
export function usedBytes (pid: number): number {
  let kib = 0
  const pids = [pid]
  for (let i = 0; i < pids.length && i < processesMax; i++) {
    const status = textOf(`/proc/${pids[i]}/status`)
    for (const [, amount] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)) kib += Number(amount)
    pids.push(...childrenOf(pids[i]))
  }
  return kib * 1024
}

function childrenOf (pid: number | undefined): number[] {
  if (pid === undefined) return []
  return textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(child => child !== '').map(Number)
}

function textOf (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
