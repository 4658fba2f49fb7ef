import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { Confinement, Executor, JsonObject, Outcome } from '../../kernel/index.ts'
import native from '../../plugins/executor-native/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import type { Call } from '../conformance/executor.ts'
import { commandCall, runCall } from './native.ts'

export type Permissions = Partial<Call['skill']['permissions']>

/**
 * Makes a home directory with these files, which is the user's from now on. It is not in /tmp, which confined commands
 * do not see.
 */
export function makeUser (t: Pick<Test, 'teardown'>, files: Record<string, string>): string {
  const user = mkdtempSync('/var/tmp/skillet-user-')
  t.teardown(() => { rmSync(user, { recursive: true, force: true }) })
  mkdirSync(join(user, 'skill'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(user, path)), { recursive: true })
    writeFileSync(join(user, path), text)
  }
  process.env['HOME'] = user
  delete process.env['XDG_CONFIG_HOME']
  return user
}

/** A call of a shell script by a skill that is not trusted, in the folder `skill` of the user's home. */
export function untrusted (user: string, script: string, permissions: Permissions = {}): Call {
  const parameters: JsonObject = { script: `HOME=${user}; ${script}` }
  const call = commandCall(['sh', '-c', '{{script}}'], parameters, { directory: join(user, 'skill') })
  return {
    ...call,
    skill: {
      ...call.skill, trusted: false, revision: JSON.stringify(permissions),
      permissions: { ...call.skill.permissions, ...permissions }
    }
  }
}

/** The native executor whose commands run at one level. */
export async function openAt (
  t: Pick<Test, 'teardown'>, level: 'process' | Confinement, config: JsonObject = {}
): Promise<Executor> {
  const isolation = level === 'process' ? { mode: 'off' } : { mode: 'required', level }
  const { service, close } = await openPlugin(native, { config: { ...config, isolation } })
  t.teardown(close)
  return service
}

/** Runs a call, and tells what it printed, on either stream. */
export async function said (executor: Executor, call: Call): Promise<string> {
  const outcome: Outcome = await runCall(executor, call)
  const { stderr = '' } = outcome.status === 'failed' ? outcome.error.details : {}
  return `${outcome.output}${String(stderr)}`
}

/** Whether a process has this text among its arguments. */
export function isRunning (text: string): boolean {
  return spawnSync('pgrep', ['-f', `: ${text}`]).status === 0
}

/** The number of the user `nobody`, which owns nothing. */
const nobody = 65_534
const asNobody = { uid: nobody, gid: nobody, env: { PATH: process.env['PATH'], TAP_TIMEOUT: '280' } }

/** Why the tests of a file can't run again as an ordinary user; false where they can. */
export function whyNotAsNobody (file: string): string | false {
  if (process.getuid?.() !== 0) return 'only root can be another user'
  const look = `require('fs').accessSync(${JSON.stringify(file)})`
  return spawnSync(process.execPath, ['-e', look], asNobody).status === 0 ? false : 'these files are root\'s alone'
}

/** Runs a file of tests as an ordinary user. @returns its exit code and the lines of what failed */
export async function runAsNobody (file: string): Promise<{ code: unknown, failed: string, output: string }> {
  const child =
    spawn(process.execPath, ['--enable-source-maps', file], { ...asNobody, stdio: ['ignore', 'pipe', 'inherit'] })
  const output = (await child.stdout.setEncoding('utf8').toArray()).join('')
  const code: unknown = child.exitCode ?? (await once(child, 'close'))[0]
  return { code, output, failed: output.split('\n').filter(line => /not ok/.test(line)).join('\n') }
}
