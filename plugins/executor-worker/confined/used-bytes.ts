import { readFileSync } from 'node:fs'

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
    for (const child of textOf(`/proc/${pids[i]}/task/${pids[i]}/children`).split(' ')) {
      if (child !== '') pids.push(Number(child))
    }
  }
  return kib * 1024
}

function textOf (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
