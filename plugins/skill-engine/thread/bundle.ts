import { createHash } from 'node:crypto'
import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type BuildFailure } from 'esbuild'
import { CodeFault } from './code-fault.ts'
import { toolsMark } from './tools-mark.ts'

/** The largest file of code, in bytes. */
const codeBytesMax = 8 * 1_048_576

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/**
 * Makes one file of a skill's code, of all that it imports, and of the adapter. It lies in the cache, named after its
 * content. Its exports: the adapted skill, and `load`, which runs the code. Its tools take the place of `toolsMark`.
 * @param memory_bytes_max what the memories of a component may take together
 * @throws CodeFault
 */
export async function bundle (
  entry: string, cache_dir: string, memory_bytes_max: number
): Promise<{ file: string, inputs: string[] }> {
  const name = basename(entry)
  // What components need takes longer to load than most code takes to describe.
  const components = name.endsWith('.wasm') ? await import('./bundle-component.ts') : undefined
  const bytesMax = components?.wasmBytesMax ?? codeBytesMax
  const { size } = await stat(entry)
  if (size > bytesMax) throw new CodeFault(`${name} has ${size} bytes; the most is ${bytesMax}`)
  const { code, inputs } = components === undefined
    ? await bundled(entry)
    : { code: await components.bundleComponent(entry, cache_dir, memory_bytes_max), inputs: [entry] }
  const file = `${createHash('sha256').update(code).digest('hex')}.mjs`
  await mkdir(cache_dir, { recursive: true, mode: 0o700 })
  const part = join(cache_dir, `${file}.${process.pid}-${Math.random().toString(36).slice(2)}.part`)
  await writeFile(part, code, { mode: 0o600 })
  await rename(part, join(cache_dir, file))
  return { file, inputs }
}

async function bundled (entry: string): Promise<{ code: string, inputs: string[] }> {
  const folder = dirname(entry)
  const [url, file, place] = [pathToFileURL(entry).href, entry, folder].map(value => JSON.stringify(value))
  const adapter = beside('./adapter.js')
  try {
    const { outputFiles: [output], metafile } = await build({
      stdin: {
        contents: `import { adapt, toolsIn } from ${JSON.stringify(adapter)}\nexport const load = () => import(${file})\nexport default adapt(load, toolsIn(${JSON.stringify(toolsMark)}))\n`,
        resolveDir: folder
      },
      absWorkingDir: folder,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      alias: { '@skill-engine/sdk': beside('./sdk.js') },
      define: {
        'import.meta.url': '__place.url',
        'import.meta.filename': '__place.file',
        'import.meta.dirname': '__place.folder',
        __filename: '__place.file', __dirname: '__place.folder'
      },
      banner: { js: `import { createRequire as __createRequire } from 'node:module'; const __place = { url: ${url}, file: ${file}, folder: ${place} }; const require = __createRequire(__place.url);` },
      sourcemap: 'inline',
      tsconfigRaw: '{}', // a tsconfig.json in a parent folder does not belong to the skill
      metafile: true,
      write: false,
      logLevel: 'silent'
    })
    if (output === undefined) throw new Error('esbuild gave no output')
    const own = dirname(adapter)
    const inputs = Object.keys(metafile.inputs).map(input => resolve(folder, input))
      .filter(path => path !== join(folder, '<stdin>') && !path.startsWith(dirname(own)))
    return { code: output.text, inputs }
  } catch (error) {
    throw new CodeFault(describeFailure(error, entry), { cause: error })
  }
}

/** The message of a failed build, such as `skill.js:3:7 can't be built: Expected ")"`. */
function describeFailure (error: unknown, entry: string): string {
  const [first] = isBuildFailure(error) ? error.errors : []
  const text = first?.text ?? (error instanceof Error ? error.message : String(error))
  const location = first?.location
  const file = location === null || location === undefined || location.file === '<stdin>'
    ? basename(entry)
    : `${relative(dirname(entry), resolve(dirname(entry), location.file))}:${location.line}:${location.column + 1}`
  return `${file} can't be built: ${text.split('\n', 1)[0] ?? ''}`
}

function isBuildFailure (error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}
