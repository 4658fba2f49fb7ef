import { execFile } from 'node:child_process'
import { environmentOf } from '../toolkit/environment.ts'

/** Variables by which the programs of engines find their settings, their socket and the user's files. */
export const engineVariables: readonly string[] = [
  'HOME', 'USER', 'LOGNAME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'DBUS_SESSION_BUS_ADDRESS',
  'DOCKER_HOST', 'DOCKER_CONFIG', 'DOCKER_CONTEXT', 'DOCKER_TLS', 'DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH',
  'DOCKER_API_VERSION', 'SSH_AUTH_SOCK', 'CONTAINER_HOST', 'CONTAINER_CONNECTION', 'CONTAINER_SSHKEY',
  'CONTAINERS_CONF', 'CONTAINERS_CONF_OVERRIDE', 'CONTAINERS_STORAGE_CONF', 'CONTAINERS_REGISTRIES_CONF',
  'STORAGE_DRIVER', 'STORAGE_OPTS'
]

/** What a program of an engine answered. */
export interface Answer {
  /** Its exit code; undefined when it did not start, or was ended. */
  code: number | undefined
  stdout: string
  stderr: string
}

/** The most that a program of an engine may answer, in bytes. */
const answerBytesMax = 1_048_576

/**
 * Asks the program of an engine for something small, and ends it after `limit_ms`. For what happens seldom: containers
 * are started by the executor of commands, since starting a process blocks the thread. Never rejects.
 */
export async function askEngine (file: string, args: readonly string[], limit_ms: number): Promise<Answer> {
  return await new Promise(resolve => {
    const options = {
      cwd: '/', env: environmentOf(engineVariables), timeout: limit_ms, killSignal: 'SIGKILL' as const,
      maxBuffer: answerBytesMax, windowsHide: true
    }
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined
      const late = error?.killed === true ? `it did not answer within ${limit_ms / 1000} s` : error?.message ?? ''
      resolve({ code, stdout, stderr: stderr.trim() === '' ? late : stderr.trim() })
    })
    child.stdin?.end()
  })
}
