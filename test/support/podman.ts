import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, copyFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../kernel/index.ts'

const run = promisify(execFile)

/** podman with a store of the test's own and one image: a static busybox. */
export interface Podman {
  /** The settings of the executor. */
  options: { engine: string, engine_options: string[], run_options: string[] }
  image: string
  /** The names of the containers that exist. */
  containers (): Promise<string[]>
  remove (): Promise<void>
}

/** @returns why there is no podman that can run a container here */
export async function openPodman (): Promise<Podman | string> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-podman-'))
  const isRoot = process.getuid?.() === 0
  const engine_options = [
    '--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs',
    ...isRoot ? ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'] : []
  ]
  const run_options = isRoot ? ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=4096:4096'] : []
  const podman = async (...args: string[]): Promise<string> =>
    (await run('podman', [...engine_options, ...args], { timeout: 60_000 })).stdout
  const remove = async (): Promise<void> => {
    await podman('rm', '--all', '--force', '--time', '0').catch(() => {})
    await podman('unmount', '--all').catch(() => {})
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  const image = 'localhost/skillet-box:1'
  try {
    await mkdir(join(folder, 'image', 'bin'), { recursive: true })
    const { stdout: busybox } = await run('which', ['busybox'])
    await copyFile(busybox.trim(), join(folder, 'image', 'bin', 'busybox'))
    const names = ['sh', 'cat', 'env', 'id', 'sleep', 'printf', 'touch', 'wget', 'head', 'tr', 'ls', 'yes']
    for (const name of names) await symlink('busybox', join(folder, 'image', 'bin', name))
    await run('tar', ['-C', join(folder, 'image'), '-cf', join(folder, 'image.tar'), '.'])
    await podman('import', join(folder, 'image.tar'), image)
    await podman('run', '--rm', '--network', 'none', ...run_options, '--entrypoint=id', image)
  } catch (error) {
    await remove()
    return `no podman here that can run a container: ${messageOf(error).split('\n', 1)[0]}`
  }
  return {
    options: { engine: 'podman', engine_options, run_options }, image, remove,
    async containers () {
      const names = await podman('ps', '--all', '--format', '{{.Names}}')
      return names.split('\n').filter(name => name !== '')
    }
  }
}
