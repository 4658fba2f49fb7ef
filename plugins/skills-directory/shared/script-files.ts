import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { messageOf } from '../../../kernel/index.ts'
import { isThere } from './files.ts'
import type { Folder } from './protocol.ts'

/** The folder of a skill that holds its scripts. */
export const SCRIPTS = 'scripts'
/** The folders of a skill with texts to which its instructions refer. */
export const REFERENCES = ['reference', 'references'] as const
/** The maximum depth of folders below it that are read, and the maximum number of files. */
export const scriptDepthMax = 8
export const scriptFilesMax = 1_000

/** The file extensions of data that scripts read and that never runs. */
const data = new Set(
  [
    'xsd',
    'xml',
    'xsl',
    'xslt',
    'json',
    'jsonl',
    'yaml',
    'yml',
    'toml',
    'ini',
    'cfg',
    'lock',
    'md',
    'rst',
    'txt',
    'csv',
    'tsv',
    'html',
    'htm',
    'css',
    'svg',
    'sql',
    'log',
    'png',
    'jpg',
    'jpeg',
    'gif',
    'webp',
    'ico',
    'pdf',
    'docx',
    'pptx',
    'xlsx',
    'zip',
    'gz',
    'tgz',
    'tar',
    'bz2',
    'xz',
    'whl',
    'jar',
    'ttf',
    'otf',
    'woff',
    'woff2',
    'mp3',
    'mp4',
    'wav',
    'pyc',
    'map'
  ].map(ending => `.${ending}`)
)

/** Whether a file of `scripts/` may be a script, according to its name. */
export function mayBeScript (name: string): boolean {
  return (
    !name.startsWith('.')
    && name !== '__init__.py'
    && !/\.d\.[cm]?ts$/.test(name)
    && !data.has(extname(name).toLowerCase())
  )
}

/** Whether a folder contains no files of the skill itself: only packages, or caches of an interpreter. */
export function isPassedOver (folder: string): boolean {
  return folder.startsWith('.') || ['node_modules', '__pycache__', 'site-packages', 'venv'].includes(folder)
}

/** Whether a file is a text that may name scripts. */
export function isInstructions (name: string): boolean {
  return name.endsWith('.md') && !name.startsWith('.')
}

/** A file below `scripts/`. */
export interface ScriptFile {
  /** The path within `scripts/`, with `/`. */
  file: string
  path: string
}

/**
 * The files below `scripts/` that may be scripts, in the order of their paths. Links that lead out of the folder are
 * not followed.
 */
export function scriptFiles ({ path, real_path }: Folder, warn: (warning: string, at?: string) => void): ScriptFile[] {
  const root = join(path, SCRIPTS)
  const files: ScriptFile[] = []
  let seen = 0
  const walk = (folder: string, depth: number): void => {
    for (const name of namesIn(folder, root, warn)) {
      if (++seen > scriptFilesMax) return
      const at = join(folder, name)
      const file = relative(root, at).split(sep).join('/')
      try {
        const stats = statSync(at)
        if (
          stats.isDirectory()
            ? isPassedOver(name) || depth >= scriptDepthMax || existsSync(join(at, 'pyvenv.cfg'))
            : !mayBeScript(name)
        )
          continue
        if (!realpathSync(at).startsWith(real_path + sep))
          warn(`${SCRIPTS}/${file} is a link that leads out of the folder, and no tool`, at)
        else if (stats.isFile()) files.push({ file, path: at })
        else if (stats.isDirectory() && !isLoop(at, root)) walk(at, depth + 1)
      } catch (error) {
        warn(`${SCRIPTS}/${file} can't be read: ${messageOf(error)}`, at)
      }
    }
  }
  if (isThere(root)) walk(root, 0)
  if (seen > scriptFilesMax)
    warn(`${SCRIPTS}/ has more than ${scriptFilesMax} files; those beyond are not looked at`, root)
  return files.sort((a, b) => (a.file < b.file ? -1 : 1))
}

function namesIn (folder: string, root: string, warn: (warning: string, at?: string) => void): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    const within = relative(root, folder).split(sep).join('/')
    warn(`${SCRIPTS}/${within} can't be read: ${messageOf(error)}`, folder)
    return []
  }
}

/** Whether a linked folder is a folder that contains the link. */
function isLoop (folder: string, root: string): boolean {
  const real = realpathSync(folder)
  return realpathSync(root).startsWith(real) || realpathSync(join(folder, '..')).startsWith(real)
}
