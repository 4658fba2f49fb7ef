import { statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fromHome } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'

/** Where skills are installed from. */
export type Source =
  | { kind: 'folder', path: string }
  /** A tarball on this machine. */
  | { kind: 'tarball', path: string }
  /** A tarball behind an address. */
  | { kind: 'download', url: string }
  /** A branch, tag or full commit of a repository; its default branch where `ref` is absent. */
  | { kind: 'git', url: string, ref?: string }
  /** A package of the npm registry: `name` or `name@version`. */
  | { kind: 'npm', spec: string }

const packageSpec = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*(?:@[\w.~^<>=*+-]+)?$/i
const refName = /^(?!-)[\w./+-]+$/
const archive = /\.(?:tgz|tar\.gz|tar)$/i
const repository = /^(?:git\+|git@|ssh:\/\/|git:\/\/)|^https?:\/\/(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]+\/?$|\.git$/

/**
 * Reads what a user names as a source: `npm:NAME[@VERSION]`, `github:OWNER/NAME`, an address of a git repository, each
 * with an optional `#BRANCH`, an address of a tarball, or a path of a folder or tarball.
 * @param cwd the directory against which a path is resolved
 * @throws UsageError that says what can be named
 */
export function parseSource (text: string, cwd: string): Source {
  if (text.startsWith('npm:')) return packageOf(text.slice('npm:'.length))
  const [address = '', ref] = text.split(/#(.*)$/s, 2)
  if (address.startsWith('github:')) return gitOf(`https://github.com/${address.slice('github:'.length)}.git`, ref)
  if (repository.test(address) && !isFolder(resolve(cwd, address))) return gitOf(address.replace(/^git\+/, ''), ref)
  if (/^https?:\/\//i.test(text)) return downloadOf(text)
  const path = resolve(cwd, fromHome(text))
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory() === true) return { kind: 'folder', path }
  if (stats?.isFile() === true && archive.test(path)) return { kind: 'tarball', path }
  throw new UsageError(stats === undefined
    ? `there is no ${path}; name a folder, a tarball, a git repository, npm:NAME or github:OWNER/NAME`
    : `${path} is neither a folder nor a tarball (.tgz, .tar.gz, .tar)`)
}

/** The text that `parseSource` reads as this source, wherever it is called. */
export function sourceText (source: Source): string {
  switch (source.kind) {
    case 'folder': case 'tarball': return source.path
    case 'download': return source.url
    case 'git': return `git+${source.url}${source.ref === undefined ? '' : `#${source.ref}`}`
    case 'npm': return `npm:${source.spec}`
    default: return source satisfies never
  }
}

/** The name that a skill of this source has where its own folder has none that tells. */
export function nameOfSource (source: Source): string {
  switch (source.kind) {
    case 'folder': return basename(source.path)
    case 'tarball': return basename(source.path).replace(archive, '')
    case 'download': return basename(new URL(source.url).pathname).replace(archive, '')
    case 'git': return basename(source.url.replace(/[/:]+$/, '').replaceAll(':', '/')).replace(/\.git$/, '')
    case 'npm': return basename(source.spec.replace(/(?<=.)@.*$/, ''))
    default: return source satisfies never
  }
}

function packageOf (spec: string): Source {
  if (packageSpec.test(spec)) return { kind: 'npm', spec }
  throw new UsageError(`"${spec}" is no package of the npm registry: name it as npm:NAME or npm:NAME@VERSION`)
}

function gitOf (url: string, ref: string | undefined): Source {
  if (url.startsWith('-') || /^\w+::/.test(url)) throw new UsageError(`"${url}" is no address of a git repository`)
  if (ref === undefined) return { kind: 'git', url }
  if (refName.test(ref)) return { kind: 'git', url, ref }
  throw new UsageError(`"${ref}" is no branch, tag or commit`)
}

function downloadOf (text: string): Source {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) throw new UsageError(`"${text}" is no address`)
  refuseOpen(url)
  if (!archive.test(url.pathname)) {
    throw new UsageError(`${text} is no tarball (.tgz, .tar.gz, .tar); a git repository is named with git+ before it`)
  }
  return { kind: 'download', url: text }
}

/** @throws UsageError when what comes from an address can be changed on its way */
export function refuseOpen ({ protocol, hostname, href }: URL): void {
  if (protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))) return
  throw new UsageError(`${href} can be changed on its way: use https`)
}

function isFolder (path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
