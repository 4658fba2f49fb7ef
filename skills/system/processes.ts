import { readdir, readFile } from 'node:fs/promises'
import { uptime } from 'node:os'

export interface ProcessInfo {
  pid: number
  parent: number
  name: string
  state: string
  memory: number
  cpu_seconds: number
  started: string
}

/** Processes read at a time. */
const batch = 64
/** The unit of times in /proc, the same on every platform of Linux that Node runs on. */
const ticksPerSecond = 100

const states: Record<string, string> = {
  R: 'running', S: 'sleeping', D: 'waiting', Z: 'zombie', T: 'stopped', t: 'traced', I: 'idle'
}

/**
 * The processes that can be seen, from /proc. Their arguments are not read: they may hold secrets.
 * @throws Error where there is no /proc
 */
export async function processes (signal: AbortSignal): Promise<ProcessInfo[]> {
  if (process.platform !== 'linux') {
    throw new Error(`processes can be listed on Linux alone; this is ${process.platform}`)
  }
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const booted_ms = Date.now() - uptime() * 1000
  const found: ProcessInfo[] = []
  for (let at = 0; at < pids.length; at += batch) {
    signal.throwIfAborted()
    const some = await Promise.all(pids.slice(at, at + batch).map(pid => readOne(pid, booted_ms)))
    found.push(...some.filter(info => info !== undefined))
  }
  return found
}

async function readOne (pid: string, booted_ms: number): Promise<ProcessInfo | undefined> {
  try {
    const [stat, status] =
      await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile(`/proc/${pid}/status`, 'utf8')])
    return { ...parseStat(stat, booted_ms), memory: Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024 }
  } catch {
    return undefined // it has ended
  }
}

/** The line of /proc/PID/stat. The name stands in parentheses and may itself have some. */
export function parseStat (line: string, booted_ms: number): Omit<ProcessInfo, 'memory'> {
  const end = line.lastIndexOf(')')
  const fields = line.slice(end + 2).split(' ')
  const ticks = (field: number): number => Number(fields[field - 3] ?? 0) / ticksPerSecond // numbered as in proc(5)
  return {
    pid: Number.parseInt(line, 10),
    parent: Number(fields[1]),
    name: line.slice(line.indexOf('(') + 1, end),
    state: states[fields[0] ?? ''] ?? 'unknown',
    cpu_seconds: ticks(14) + ticks(15),
    started: new Date(booted_ms + ticks(22) * 1000).toISOString()
  }
}
