import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, version as esbuildVersion, type BuildFailure } from 'esbuild'
import { messageOf, replaceFile } from '../../../kernel/index.ts'
import { filesKnowTheirPlace, inputsAreNamed, packagesStay, placeDefines } from './build-plugins.ts'
import { firstLine, SkillFault } from '../shared/files.ts'
import type { DescriberData } from '../shared/protocol.ts'

/** A built module is removed when no skill has used it for this time, in milliseconds. */
const unusedMax_ms = 14 * 24 * 60 * 60 * 1000
/** Changes whenever the output for the same inputs changes. */
const recipe = `3 ${esbuildVersion}`
/**
 * A file that was changed less than this time before a build may change again without another ctime, in milliseconds:
 * the clock of a file system has steps of up to 10 ms.
 */
const settle_ms = 50

/** The inputs of a build, stored beside it: when any of them changes, the module is built again. */
interface Receipt {
  recipe: string
  revision: string
  module: string
  inputs: Record<string, string>
  /** When the build was begun, in milliseconds since 1970. */
  begun_ms: number
}

/**
 * Bundles a skill's module and its imports except packages into one file in the cache, or finds that file there. The
 * file is named after its content and never changes: a run keeps its version to the end, even when the folder changes.
 * @param revision revision of the folder that contains the module
 * @param inputs receives the absolute paths of the files from which it is built; after a failed build also of those
 * that were looked for
 * @returns absolute path of a module named after its content
 * @throws SkillFault with file, line and column
 */
export async function buildModule (
  entry: string, revision: string, { cache_dir, skill_module }: DescriberData, inputs: Set<string>
): Promise<string> {
  const receiptPath = join(cache_dir, `${sha256(entry)}.json`)
  const kept = readReceipt(receiptPath, revision)
  if (kept !== undefined) {
    const path = join(cache_dir, kept.module)
    const now = new Date()
    for (const used of [path, receiptPath]) utimesSync(used, now, now)
    for (const input of Object.keys(kept.inputs)) inputs.add(input)
    return path
  }
  const begun_ms = Date.now()
  const code = await bundle(entry, skill_module, inputs)
  const module = `${sha256(code)}.mjs`
  mkdirSync(cache_dir, { recursive: true, mode: 0o700 })
  await replaceFile(join(cache_dir, module), code, { durable: false })
  const receipt: Receipt = { recipe, revision, module, inputs: hashes(inputs), begun_ms }
  await replaceFile(receiptPath, JSON.stringify(receipt), { durable: false })
  return join(cache_dir, module)
}

async function bundle (entry: string, skill_module: string, inputs: Set<string>): Promise<string> {
  const named = new Set<string>()
  try {
    const { outputFiles: [output], metafile } = await build({
      entryPoints: [entry],
      absWorkingDir: dirname(entry),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      define: placeDefines,
      plugins: [inputsAreNamed(path => { named.add(path) }), packagesStay(skill_module), filesKnowTheirPlace],
      banner: { js: `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(${JSON.stringify(pathToFileURL(entry).href)});` },
      sourcemap: 'inline',
      tsconfigRaw: '{}', // a tsconfig.json in a parent folder does not belong to the skill
      metafile: true,
      write: false,
      logLevel: 'silent'
    })
    if (output === undefined) throw new Error('esbuild gave no output')
    // esbuild also names inputs that are not files, such as `(disabled):fs`.
    for (const path of Object.keys(metafile.inputs).map(input => resolve(dirname(entry), input))) {
      if (existsSync(path)) inputs.add(path)
    }
    return output.text
  } catch (error) {
    for (const path of named) inputs.add(path)
    throw new SkillFault(entry, `${basename(entry)}${describeFailure(error, entry)}`, { cause: error })
  }
}

/**
 * The message of a failed build, such as `:3:7 can't be built: Expected ")"`; it names another file when the fault is
 * in an imported file.
 */
function describeFailure (error: unknown, entry: string): string {
  const [first] = isBuildFailure(error) ? error.errors : []
  if (first === undefined) return ` can't be built: ${firstLine(messageOf(error))}`
  const { text, location } = first
  if (location === null) return ` can't be built: ${firstLine(text)}`
  const place = `:${location.line}:${location.column + 1}`
  const file = resolve(dirname(entry), location.file)
  return file === entry
    ? `${place} can't be built: ${firstLine(text)}`
    : ` can't be built: ${relative(dirname(entry), file)}${place}: ${firstLine(text)}`
}

function isBuildFailure (error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}

function readReceipt (path: string, revision: string): Receipt | undefined {
  try {
    const receipt = JSON.parse(readFileSync(path, 'utf8')) as Receipt // other contents fail the comparisons below
    if (
      receipt.recipe !== recipe || receipt.revision !== revision || !existsSync(join(dirname(path), receipt.module))
    ) {
      return undefined
    }
    const isUnchanged = ([input, hash]: [string, string]): boolean => {
      return statSync(input).ctimeMs + settle_ms < receipt.begun_ms && sha256(readFileSync(input)) === hash
    }
    return Object.entries(receipt.inputs).every(isUnchanged) ? receipt : undefined
  } catch {
    return undefined // missing, damaged, or without one of its inputs: build again
  }
}

function hashes (inputs: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries([...inputs].map(input => [input, sha256(readFileSync(input))]))
}

function sha256 (data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

/**
 * Removes the modules that no skill has used for a long time.
 * @returns the number of removed files
 */
export function pruneCache (cache_dir: string): number {
  if (!existsSync(cache_dir)) return 0
  const before_ms = Date.now() - unusedMax_ms
  let removed = 0
  for (const name of readdirSync(cache_dir)) {
    const path = join(cache_dir, name)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined || !stats.isFile() || stats.mtimeMs > before_ms) continue
    rmSync(path, { force: true })
    removed++
  }
  return removed
}
