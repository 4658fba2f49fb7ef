import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { until } from '../../plugins/testing/until.ts'

/** Whether a process runs. One that ended and was not reaped yet does not. */
export async function runs (pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (process.platform !== 'linux') return true
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const state = stat.slice(stat.lastIndexOf(')') + 2)[0]
  return state !== undefined && state !== 'Z' && state !== 'X'
}

/** Waits until none of these processes runs any more. */
export async function gone (pids: readonly number[]): Promise<void> {
  for (const pid of pids) await until(async () => !await runs(pid))
}

/** The numbers in a file, as soon as there are so many of them and a newline behind. */
export async function numbersIn (file: string, count: number): Promise<number[]> {
  let numbers: number[] = []
  await until(async () => {
    const text = await readFile(file, 'utf8').catch(() => '')
    numbers = text.split(/\s+/).filter(word => word !== '').map(Number)
    return text.endsWith('\n') && numbers.length >= count
  })
  return numbers
}

/** Processes below one, all the way down. */
export function below (pid: number): number[] {
  const lines = spawnSync('ps', ['--ppid', String(pid), '-o', 'pid=,comm='], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n')
    .filter(line => line !== '' && !line.endsWith(' ps'))
  const children = lines.map(line => Number.parseInt(line))
  return [...children, ...children.flatMap(below)]
}
