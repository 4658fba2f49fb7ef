// Tests the built server against its OpenAPI description with Schemathesis: all checks, all phases, a fixed seed.
// Installs Schemathesis into a temporary environment (needs python3), unless SCHEMATHESIS names the program.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startServer, withoutLimits } from './server.mjs'

const version = '4.32.5'
const folder = mkdtempSync(join(tmpdir(), 'skillet-schemathesis-'))
let server
try {
  const program = process.env.SCHEMATHESIS ?? install()
  // The tools of the server may write files, so the server has its own home.
  server = await startServer(folder, withoutLimits)
  run(program, [
    '--config-file', resolve('test/schemathesis.toml'), 'run', `${server.url}/api/openapi.json`,
    '--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful', '--max-examples', '50', '--seed', '20260101',
    '--workers', '1', '--max-response-time', '40', '--no-color'
  ])
} catch (error) {
  console.error(`schemathesis: ${error.message}`)
  process.exitCode = 1
} finally {
  server?.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function install () {
  run('python3', ['-m', 'venv', join(folder, 'venv')])
  run(join(folder, 'venv/bin/pip'), ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`])
  return join(folder, 'venv/bin/schemathesis')
}

function run (program, args) {
  const { status, error } = spawnSync(program, args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(error?.message ?? `${program} ended with ${status}`)
}
