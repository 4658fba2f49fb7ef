import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, utimesSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { messageOf, replaceFile, type ManifestFrame } from '../../../kernel/index.ts'
import { wasmNames, wasmPrograms } from '../../toolkit/wasm/build-plugin.ts'
import { inspect, wasmBytesMax, type Inspected } from '../../toolkit/wasm/inspect.ts'
import { MANIFEST } from '../../toolkit/skill-folder.ts'
import { firstLine, refuseUnlessSmall, SkillFault } from '../shared/files.ts'
import type { DescriberData } from '../shared/protocol.ts'
import type { BrokenTool, ToolSource } from '../shared/tools.ts'

/** Changes whenever the output for the same files changes. */
const recipe = '1'
/** The most files of WebAssembly of a skill, and what all of them may have, in bytes. */
const filesMax = 32
const allBytesMax = 2 * wasmBytesMax

/** A program of a skill, and the hash of its file. */
interface Read { program: Inspected, hash: string }

/**
 * Builds a module that presents the commands in WebAssembly of a skill as tools of a script. It lies in the cache, and
 * its name is a hash of all that it was built from, so it runs what was read, whatever becomes of the folder.
 * @param sources the tools, whose commands begin with the name of a file
 * @returns the absolute path of the module; and the tools, without those whose file can't be run
 * @throws SkillFault where the skill declares the network
 */
export async function buildPrograms (
  folder: string, sources: readonly (ToolSource | BrokenTool)[], permissions: ManifestFrame['permissions'],
  { cache_dir, wasm_host }: DescriberData
): Promise<{ module: string, tools: (ToolSource | BrokenTool)[] }> {
  const { network = false } = permissions ?? {}
  if (network !== false) {
    throw new SkillFault(join(folder, MANIFEST), 'skill.toml/permissions/network: WebAssembly is given no network')
  }
  const read = new Map<string, Promise<Read | string>>()
  let bytesLeft = allBytesMax
  const programOf = (file: string): Promise<Read | string> => {
    const known = read.get(file)
    if (known !== undefined) return known
    const reading = readProgram(folder, file, read.size < filesMax ? bytesLeft : -1, cache_dir, bytes => {
      bytesLeft -= bytes
    })
    read.set(file, reading)
    return reading
  }
  const tools: (ToolSource | BrokenTool)[] = []
  const used: { tool: string, file: string, read: Read }[] = []
  for (const source of sources) {
    if ('error' in source) {
      tools.push(source)
      continue
    }
    const [file] = source.command?.command ?? []
    const found = source.command?.cwd !== undefined
      ? 'cwd: a command in WebAssembly has no working directory; declare folders in permissions.read and write'
      : typeof file === 'string' ? await programOf(file) : 'command: the first item is the name of a .wasm file'
    if (typeof found === 'string') tools.push({ tool: source.name, error: `tool "${source.name}": ${found}` })
    else {
      tools.push(source)
      used.push({ tool: source.name, file: basename(String(file)), read: found })
    }
  }
  return { module: await bundle(used, cache_dir, wasm_host), tools }
}

/** @returns the program, or why it can't be run, in one line */
async function readProgram (
  folder: string, file: string, bytesLeft: number, cache_dir: string, took: (bytes: number) => void
): Promise<Read | string> {
  if (!/^[^/\\{}]+\.wasm$/.test(file)) {
    return `command: "${file}" must be the name of a .wasm file in the skill's folder`
  }
  if (bytesLeft < 0) return `${file}: a skill has at most ${filesMax} files of WebAssembly`
  try {
    const path = join(folder, file)
    refuseUnlessSmall(path, Math.min(bytesLeft, wasmBytesMax))
    const bytes = readFileSync(path)
    took(bytes.length)
    const program = await inspect(bytes, cache_dir)
    if (program.kind === 'component' && program.world === 'skill-engine') {
      return `${file} is a skill of the Skill Engine: name the directory of its folder in plugin.skill-engine.directories`
    }
    return { program, hash: createHash('sha256').update(bytes).digest('hex') }
  } catch (error) {
    const message = firstLine(messageOf(error))
    return message.startsWith(file) ? message : `${file} ${message}`
  }
}

async function bundle (
  used: readonly { tool: string, file: string, read: Read }[], cache_dir: string, wasm_host: string
): Promise<string> {
  const programs = [...new Set(used.map(({ read }) => read))]
  const numbers = used.map(({ tool, file, read }) => [tool, file, programs.indexOf(read)] as const)
  const hash = createHash('sha256').update(recipe).update(readFileSync(wasm_host))
    .update(JSON.stringify([numbers, programs.map(({ hash }) => hash)])).digest('hex')
  const module = join(cache_dir, `${hash}.mjs`)
  if (existsSync(module)) {
    const now = new Date()
    utimesSync(module, now, now)
    return module
  }
  mkdirSync(cache_dir, { recursive: true, mode: 0o700 })
  const { outputFiles: [output] } = await build({
    stdin: {
      contents: [
        `import { commands } from '${wasmNames.host}'`,
        ...programs.map((_, i) => `import program${i} from '${wasmNames.program}${i}'`),
        `export default commands({ ${numbers.map(([tool, name, i]) => {
          return `[${JSON.stringify(tool)}]: { name: ${JSON.stringify(name)}, program: program${i} }`
        }).join(', ')} })`
      ].join('\n'),
      resolveDir: cache_dir
    },
    plugins: [wasmPrograms(programs.map(({ program }) => program), wasm_host)],
    bundle: true, format: 'esm', platform: 'node', target: 'node20', tsconfigRaw: '{}', write: false, logLevel: 'silent'
  })
  if (output === undefined) throw new Error('esbuild gave no output')
  await replaceFile(module, output.contents, { durable: false })
  return module
}
