// Starts the built server for a check, with its own home.
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'

/** Options that switch off the rate limits, for checks with many requests. */
export const withoutLimits = ['--server-rate-limit-per-minute', '0', '--server-rate-limit-per-hour', '0']

/** The environment of a program whose home is this folder. */
export function environmentIn (home) {
  return {
    PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: join(home, 'data')
  }
}

/**
 * @param home the folder in which it runs
 * @returns its URL, and a function that ends it
 * @throws Error when it does not start
 */
export async function startServer (home, args = [], env = {}) {
  const child = spawn(process.execPath, [
    resolve('dist/program/main.js'), 'serve', '--port', '0', '--json', '--log-level', 'warn', ...args
  ], {
    cwd: home, env: { ...environmentIn(home), ...env }, stdio: ['ignore', 'pipe', 'inherit']
  })
  const stop = () => { child.kill('SIGKILL') }
  for await (const line of child.stdout) return { url: JSON.parse(String(line)).url, stop }
  stop()
  throw new Error('the server did not start')
}
