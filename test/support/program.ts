import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The Node that runs the built program: continuous integration names others. */
export const node = process.env['SKILLET_TEST_NODE'] ?? process.execPath
export const program = fileURLToPath(new URL('../../program/main.js', import.meta.url))

/**
 * Starts the program without the loader that the test runner gives every Node process: it adds half to the time of a
 * start.
 */
export const launcher = '/usr/bin/env'
export const launch: readonly string[] = ['-u', 'NODE_OPTIONS', node, program]

/** A home of its own for a program under test: no configuration, data or skills of the person who runs the tests. */
export interface Home {
  folder: string
  data_dir: string
  skills: string
  env: NodeJS.ProcessEnv
  remove (): Promise<void>
}

/**
 * @param confined whether skills that are not trusted run in the sandbox, as by default. Most tests and
 * benchmarks are about threads and plain commands, and let their skills write to the home: they run without it
 */
export async function makeHome ({ confined = false }: { confined?: boolean } = {}): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-e2e-'))
  const env: NodeJS.ProcessEnv = {
    ...process.env, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), XDG_DATA_HOME: join(folder, 'data')
  }
  for (const name of Object.keys(env)) {
    if (
      name.startsWith('SKILLET_') || name.startsWith('TAP') || name === 'NODE_OPTIONS'
      || /^(NO|FORCE)_COLOR$/.test(name) || name === 'SERVICE_API_KEY'
    ) {
      delete env[name]
    }
  }
  // Tests and benchmarks ask more often.
  Object.assign(env, { SKILLET_SERVER_RATE_LIMIT_PER_MINUTE: '0', SKILLET_SERVER_RATE_LIMIT_PER_HOUR: '0' })
  if (!confined) env['SKILLET_ISOLATION_MODE'] = 'off'
  const data_dir = join(folder, 'data', 'skillet')
  await addDescriptions(data_dir)
  return {
    folder,
    data_dir,
    skills: join(folder, 'config', 'skillet', 'skills'),
    env,
    remove: () => rm(folder, { recursive: true, force: true })
  }
}

/** Adds the descriptions of the bundled skills that `npm test` has made, so that the program need not make them. */
async function addDescriptions (data_dir: string): Promise<void> {
  const made = process.env['SKILLET_TEST_CACHE']
  if (made === undefined) return
  const from = join(made, 'cache', 'skills')
  const to = join(data_dir, 'cache', 'skills')
  await mkdir(to, { recursive: true, mode: 0o700 })
  await Promise.all((await readdir(from)).map(async file => {
    const text = await readFile(join(from, file), 'utf8')
    await writeFile(join(to, file), text.replaceAll(from, to)) // which descriptions name
  }))
}

/** Lets a shell in this home call the program `skillet`. */
export async function addToPath (home: Home): Promise<void> {
  const bin = join(home.folder, 'bin')
  await mkdir(bin)
  await writeFile(
    join(bin, 'skillet'),
    `#!/bin/sh\nexec ${launcher} ${launch.map(word => `'${word}'`).join(' ')} "$@"\n`,
    { mode: 0o755 }
  )
  home.env['PATH'] = `${bin}:${home.env['PATH']}`
}

export interface Ended { status: number | null, signal: NodeJS.Signals | null, stdout: string, stderr: string }

export interface RunOptions {
  cwd?: string
  input?: string
  env?: NodeJS.ProcessEnv
  /** Called with the child once it runs. */
  running?: (child: ChildProcess) => void
}

/** Runs one command of the built program to its end. */
export async function skillet (
  home: Home,
  args: readonly string[],
  { cwd = home.folder, input, env = {}, running }: RunOptions = {}
): Promise<Ended> {
  const child =
    spawn(launcher, [...launch, ...args], { cwd, env: { ...home.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  child.stdin.on('error', () => {}) // it may end without reading
  child.stdin.end(input)
  running?.(child)
  await once(child, 'close')
  return { status: child.exitCode, signal: child.signalCode, stdout, stderr }
}

export interface RunningServer {
  url: string
  pid: number
  child: ChildProcess
  stderr (): string
  /** Resolves with its exit status. */
  ended: Promise<number | null>
  /** Stops it in order. */
  stop (): Promise<number | null>
  /** Ends it at once. */
  kill (): Promise<void>
}

export interface ServerOptions extends Pick<RunOptions, 'cwd' | 'env'> {
  /** What the launcher is given in place of `launch`: another build, or flags of Node. */
  launch?: readonly string[]
}

/**
 * Starts `skillet serve` on a free port and waits until it is ready.
 * @throws Error with its output, when it ends instead
 */
export async function startServer (
  home: Home,
  args: readonly string[] = [],
  { cwd = home.folder, env = {}, launch: words = launch }: ServerOptions = {}
): Promise<RunningServer> {
  const child = spawn(launcher, [...words, 'serve', '--port', '0', '--json', ...args], {
    cwd, env: { ...home.env, ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => { stderr += text })
  const ended = once(child, 'exit').then(() => child.exitCode)
  const first = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended])
  if (!Array.isArray(first)) throw new Error(`the server ended with ${first}: ${stderr}`)
  const { url, pid } = JSON.parse(String(first[0])) as { url: string, pid: number }
  return {
    url, pid, child, ended,
    stderr: () => stderr,
    async stop () {
      child.kill('SIGTERM')
      return await ended
    },
    async kill () {
      child.kill('SIGKILL')
      await ended
    }
  }
}

export interface Answer { status: number, headers: Headers, body: Record<string, unknown> }

/** Calls the API with JSON, or with a body as it is. */
export async function request (url: string, path: string, body?: unknown, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    ...(body !== undefined
      && {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json' }
      }),
    ...init
  })
  return { status: response.status, headers: response.headers, body: await response.json() as Record<string, unknown> }
}

export function execute (
  url: string, skill_name: string, tool_name: string, parameters: object = {}, more: object = {}
): Promise<Answer> {
  return request(url, '/api/execute', { skill_name, tool_name, parameters, ...more })
}
