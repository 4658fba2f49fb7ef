import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Scope } from '../../kernel/index.ts'
import { makeHome, startServer, type Home, type ServerOptions } from '../../test/support/program.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A server under load. */
export interface Server { port: number, pid: number }

/** Skillet, and where it keeps things. */
export interface SkilletServer extends Server { home: Home, url: string }

const script = `export default {
  description: 'Trivial',
  tools: {
    echo: {
      description: 'Echo',
      parameters: { text: { type: 'string', description: 'A text', required: true } },
      run: ({ text }) => text
    },
    hang: { description: 'Never end', run () { for (;;); } },
    compute: {
      description: 'Compute',
      parameters: { ms: { type: 'integer', description: 'How long', required: true } },
      run ({ ms }) { for (const end = Date.now() + ms; Date.now() < end;); return 'computed' }
    }
  }
}`
const commands = `
description = "Commands"
[[tools]]
name = "true"
description = "Does nothing"
command = ["true"]
`

/** The body that runs the trivial script tool. */
export const trivial = { skill_name: 'trivial', tool_name: 'echo', parameters: { text: 'hello' } }

/** Runs a benchmark's work; stops what it started when that ends, however it ends. */
export async function withServers<T> (work: (servers: Servers) => Promise<T>): Promise<T> {
  const scope = new Scope()
  try {
    return await work(new Servers(scope))
  } finally {
    await scope.close()
  }
}

/** Starts servers, each in its own process, and stops them with its scope. */
export class Servers {
  readonly scope: Scope

  constructor (scope: Scope) {
    this.scope = scope
  }

  /**
   * Skillet with the skills `trivial` (a script) and `command`, besides the bundled ones. `prepare` changes its home
   * before it starts.
   */
  async skillet (
    args: readonly string[] = [],
    { prepare, ...options }: ServerOptions & { prepare?: (home: Home) => Promise<void> } = {}
  ): Promise<SkilletServer> {
    const home = await makeHome()
    this.scope.defer(() => home.remove())
    for (const [name, file, text] of [['trivial', 'skill.mjs', script], ['command', 'skill.toml', commands]] as const) {
      await mkdir(join(home.skills, name), { recursive: true })
      await writeFile(join(home.skills, name, file), text)
    }
    await prepare?.(home)
    const server = await startServer(home, ['--log-level', 'error', ...args], options)
    this.scope.defer(async () => { await server.stop() })
    server.child.stderr?.pipe(process.stderr)
    return { home, url: server.url, pid: server.pid, port: Number(new URL(server.url).port) }
  }

  /** Raw uWebSockets.js; a GET is answered with the file's bytes, where one is given. */
  raw (file?: string): Promise<Server> {
    return this.#start([
      fileURLToPath(new URL('../peers/raw-uws.js', import.meta.url)), ...(file === undefined ? [] : [file])
    ])
  }

  /** Fastify + Piscina + better-sqlite3. Undefined where its libraries are not installed. */
  async fastify (synchronous: 'NORMAL' | 'FULL'): Promise<Server | undefined> {
    if (!existsSync(join(root, 'bench/peers/node_modules/better-sqlite3'))) return undefined
    const home = await makeHome()
    this.scope.defer(() => home.remove())
    return await this.#start([join(root, 'bench/peers/fastify.mjs'), join(home.folder, 'history.db'), synchronous])
  }

  async #start (args: readonly string[]): Promise<Server> {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.scope.defer(() => ended(child))
    const first: unknown[] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(() => [])])
    const port = Number(String(first[0]))
    if (!(port > 0) || child.pid === undefined) throw new Error(`${args.join(' ')} did not start`)
    return { port, pid: child.pid }
  }
}

async function ended (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
