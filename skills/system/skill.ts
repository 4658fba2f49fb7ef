import { readFile, statfs } from 'node:fs/promises'
import {
  arch, availableParallelism, cpus, freemem, hostname, loadavg, release, totalmem, type, uptime, version
} from 'node:os'
import { defineSkill } from '../../kernel/skill.ts'
import { processes } from './processes.ts'

export default defineSkill({
  tools: {
    overview: {
      description: 'Tell about this machine: operating system and version, host name, architecture, processors, memory in bytes, and how long it has been running since its last start (uptime, reboot)',
      annotations: { read_only: true },
      parameters: {},
      run: () => ({
        system: type(), release: release(), version: version(), hostname: hostname(), architecture: arch(),
        processors: cpus().length, processor: cpus()[0]?.model ?? 'unknown', memory: totalmem(),
        uptime_seconds: Math.floor(uptime()), node: process.version
      })
    },

    load: {
      description: 'Tell how busy or slow this machine is: load averages of its processors (CPU) over 1, 5 and 15 minutes, also per processor',
      annotations: { read_only: true },
      parameters: {},
      run () {
        const averages = loadavg()
        const available = availableParallelism()
        const [one = 0, five = 0, fifteen = 0] = averages
        return {
          processors: available,
          load: { 1: one, 5: five, 15: fifteen },
          load_per_processor: { 1: one / available, 5: five / available, 15: fifteen / available }
        }
      }
    },

    memory: {
      description: 'Tell how much memory (RAM) and swap this machine has, uses and has free, in bytes',
      annotations: { read_only: true },
      parameters: {},
      async run () {
        const text = await readFile('/proc/meminfo', 'utf8').catch(() => undefined)
        const kibibytes = (name: string): number | undefined => {
          const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1]
          return found === undefined ? undefined : Number(found) * 1024
        }
        const total = totalmem()
        const available = kibibytes('MemAvailable') ?? freemem()
        const swap = { total: kibibytes('SwapTotal'), free: kibibytes('SwapFree') }
        return { total, available, used: total - available, free: freemem(), ...(swap.total !== undefined && { swap }) }
      }
    },

    disk: {
      description: 'Tell how much disk space is free or used on the file system of a path, in bytes, and its inodes',
      annotations: { read_only: true },
      parameters: { path: {
        type: 'string',
        description: 'A file or folder on it, absolute or relative to where Skillet runs',
        default: '.',
        minLength: 1,
        maxLength: 4096
      } },
      timeout_ms: 10_000,
      async run ({ path }) {
        const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(path)
        return {
          path, total: blocks * bsize, used: (blocks - bfree) * bsize, free: bfree * bsize, available: bavail * bsize,
          inodes: { total: files, free: ffree }
        }
      }
    },

    processes: {
      description: 'List running processes: which programs run, and which use the most memory or processor time, the largest first; without their arguments',
      annotations: { read_only: true },
      parameters: {
        sort: {
          type: 'string',
          description: 'What to sort by',
          enum: ['memory', 'cpu_seconds', 'started', 'pid'],
          default: 'memory'
        },
        name: {
          type: 'string',
          description: 'Only processes whose name has this text; upper and lower case are alike',
          maxLength: 100
        },
        limit: { type: 'integer', description: 'How many', default: 20, minimum: 1, maximum: 1000 }
      },
      timeout_ms: 10_000,
      async run ({ sort, name = '', limit }, { signal }) {
        const found = (await processes(signal)).filter(info => info.name.toLowerCase().includes(name.toLowerCase()))
        const order = {
          memory: byNumber('memory'),
          cpu_seconds: byNumber('cpu_seconds'),
          pid: byNumber('pid'),
          started: (a: Listed, b: Listed) => a.started < b.started ? 1 : -1
        }
        return { total: found.length, processes: found.sort(order[sort]).slice(0, limit) }
      }
    }
  }
})

type Listed = Awaited<ReturnType<typeof processes>>[number]

function byNumber (field: 'memory' | 'cpu_seconds' | 'pid'): (a: Listed, b: Listed) => number {
  return (a, b) => b[field] - a[field]
}
