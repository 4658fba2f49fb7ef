// Tests the built server against the description it gives of itself, with Schemathesis: all checks, all phases, a fixed
// seed. Installs Schemathesis into a temporary environment (needs python3), unless SCHEMATHESIS names the program.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const version = '4.32.5'
const folder = mkdtempSync(join(tmpdir(), 'skillet-schemathesis-'))
let server
try {
  const program = process.env.SCHEMATHESIS ?? install()
  const url = await serve()
  run(program, [
    '--config-file', resolve('test/schemathesis.toml'), 'run', `${url}/api/openapi.json`,
    '--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful', '--max-examples', '50', '--seed', '20260101',
    '--workers', '1', '--max-response-time', '40', '--no-color'
  ])
} catch (error) {
  console.error(`schemathesis: ${error.message}`)
  process.exitCode = 1
} finally {
  server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function install () {
  run('python3', ['-m', 'venv', join(folder, 'venv')])
  run(join(folder, 'venv/bin/pip'), ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`])
  return join(folder, 'venv/bin/schemathesis')
}

/** A server with a home of its own, in a folder of its own: its tools may write. @returns its URL */
async function serve () {
  const env = {
    PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), XDG_DATA_HOME: join(folder, 'data')
  }
  server = spawn(
    process.execPath,
    [
      resolve('dist/program/main.js'), 'serve', '--port', '0', '--json', '--log-level', 'warn',
      '--server-rate-limit-per-minute', '0', '--server-rate-limit-per-hour', '0'
    ],
    { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] }
  )
  for await (const line of server.stdout) return JSON.parse(String(line)).url
  throw new Error('the server did not start')
}

function run (program, args) {
  const { status, error } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(error?.message ?? `${program} ended with ${status}`)
}
