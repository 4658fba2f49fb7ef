import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { messageOf } from '../../../kernel/index.ts'
import { wasmNames, wasmPrograms } from '../../toolkit/wasm/build-plugin.ts'
import { inspect, type Inspected } from '../../toolkit/wasm/inspect.ts'
import { CodeFault } from './code-fault.ts'
import { toolsMark } from './tools-mark.ts'

export { wasmBytesMax } from '../../toolkit/wasm/inspect.ts'

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
/** What a component can export, as the adapter knows it. */
const functions = ['getMetadata', 'getTools', 'executeTool', 'validateConfig']

/**
 * Makes one file of a component, of what it runs on, and of the adapter, like that of code in JavaScript.
 * @param memory_bytes_max what its memories may take together
 * @throws CodeFault
 */
export async function bundleComponent (entry: string, cache_dir: string, memory_bytes_max: number): Promise<string> {
  const program = await read(entry, cache_dir)
  const exported = functions.filter(name => program.component.exports.includes(name))
  const { outputFiles: [output] } = await build({
    stdin: {
      contents: `
        import { adapt, toolsIn } from ${JSON.stringify(beside('./adapter.js'))}
        import { engineModule } from '${wasmNames.host}'
        import program from '${wasmNames.program}0'
        export const load = async settings =>
          engineModule(program, ${JSON.stringify(exported)}, ${memory_bytes_max}, settings)
        export default adapt(load, toolsIn(${JSON.stringify(toolsMark)}))
      `,
      resolveDir: beside('.')
    },
    plugins: [wasmPrograms([program], beside('../../toolkit/wasm/host/index.js'))],
    bundle: true, format: 'esm', platform: 'node', target: 'node20', tsconfigRaw: '{}', write: false, logLevel: 'silent'
  })
  if (output === undefined) throw new Error('esbuild gave no output')
  return output.text
}

async function read (entry: string, cache_dir: string): Promise<Inspected & { kind: 'component' }> {
  const name = basename(entry)
  let program
  try {
    program = await inspect(await readFile(entry), cache_dir)
  } catch (error) {
    throw new CodeFault(`${name} ${messageOf(error)}`, { cause: error })
  }
  if (program.kind === 'component' && program.world === 'skill-engine') return program
  throw new CodeFault(`${name} is a command, and no component with the functions of the Skill Engine`)
}
