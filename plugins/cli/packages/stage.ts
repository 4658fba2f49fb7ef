import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../../kernel/index.ts'
import { runProgram } from './run-program.ts'
import type { Source } from './source.ts'
import { download, unpack } from './tarball.ts'

/** Git settings under which nothing in a repository is run. */
const safeGit = [
  '-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'submodule.recurse=false',
  '-c', 'protocol.ext.allow=never'
]

/** The files of a source on this machine. */
export interface Staged {
  folder: string
  /** What exactly was fetched: a commit, a version with its hash, the hash of a tarball, or a path. */
  resolved: string
}

/**
 * Fetches the files of a source into a new folder. Nothing of them is run: no hook, no script of a package.
 * @param workspace an empty folder; the caller removes it
 * @throws Error that says what could not be fetched
 */
export async function stage (source: Source, workspace: string, signal: AbortSignal): Promise<Staged> {
  const folder = join(workspace, 'files')
  await mkdir(folder)
  const context = { cwd: workspace, signal }
  switch (source.kind) {
    case 'folder':
      await cp(source.path, folder, {
        recursive: true,
        verbatimSymlinks: true,
        filter: path => !path.endsWith('/.git')
      })
      return { folder, resolved: source.path }
    case 'tarball':
      return { resolved: await unpack(source.path, folder), folder: await inner(folder) }
    case 'download': {
      const file = join(workspace, 'download')
      await download(source.url, file, signal)
      return { resolved: await unpack(file, folder), folder: await inner(folder) }
    }
    case 'git': return { folder, resolved: await checkOut(source, folder, context) }
    case 'npm': {
      const { file, resolved } = await pack(source.spec, context)
      await unpack(join(workspace, file), folder)
      return { resolved, folder: await inner(folder) }
    }
    default: return source satisfies never
  }
}

/** @returns the commit */
async function checkOut (
  { url, ref = 'HEAD' }: { url: string, ref?: string }, folder: string, context: { cwd: string, signal: AbortSignal }
): Promise<string> {
  const git = (...args: string[]): Promise<string> => runProgram('git', [...safeGit, '-C', folder, ...args], context)
  await git('init', '--quiet', '--template=')
  await git('fetch', '--quiet', '--depth', '1', '--no-tags', '--', url, ref)
  await git('checkout', '--quiet', '--detach', 'FETCH_HEAD')
  const commit = (await git('rev-parse', 'HEAD')).trim()
  await rm(join(folder, '.git'), { recursive: true, force: true })
  return commit
}

/** Downloads a package with the user's own settings of npm. */
async function pack (
  spec: string, context: { cwd: string, signal: AbortSignal }
): Promise<{ file: string, resolved: string }> {
  const printed = await runProgram('npm', ['pack', '--json', '--ignore-scripts', '--', spec], context)
  const answer: unknown = JSON.parse(printed)
  const first: unknown = Array.isArray(answer) ? answer[0] : undefined
  if (!isObject(first) || typeof first['filename'] !== 'string' || /[/\\]/.test(first['filename'])) {
    throw new Error(`npm pack of ${spec} said nothing of a file`)
  }
  return { file: first['filename'], resolved: `${String(first['version'])} ${String(first['integrity'])}` }
}

/** The single folder in which most tarballs have everything, or the folder itself. */
async function inner (folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  const [only] = entries
  return entries.length === 1 && only?.isDirectory() === true ? join(folder, only.name) : folder
}
