import type { Plugin } from 'esbuild'
import type { Inspected } from './inspect.ts'

/** The name under which the host is imported, and the beginning of the name of each program. */
const names = { host: 'skillet-wasm:host', program: 'skillet-wasm:program/' } as const
export { names as wasmNames }

/**
 * Lets esbuild import programs in WebAssembly, as `skillet-wasm:program/NUMBER`, whose default export is a `Program`
 * of the host; and the host, as `skillet-wasm:host`.
 * @param host the absolute path of the host's module
 */
export function wasmPrograms (programs: readonly Inspected[], host: string): Plugin {
  const space = 'skillet-wasm'
  const program = (i: number): Inspected => {
    const found = programs[i]
    if (found === undefined) throw new Error(`there is no program ${i}`)
    return found
  }
  return {
    name: space,
    setup (build) {
      build.onResolve({ filter: /^skillet-wasm:/ }, ({ path }) =>
        path === names.host ? { path: host } : { path: path.slice(`${space}:`.length), namespace: space })
      build.onLoad({ filter: /^program\/\d+$/, namespace: space }, ({ path }) =>
        ({ contents: codeOf(program(numberIn(path)), path), loader: 'js' }))
      build.onLoad({ filter: /^program\/\d+\/code$/, namespace: space }, ({ path }) => {
        const found = program(numberIn(path))
        return { contents: found.kind === 'component' ? found.component.code : '', loader: 'js' }
      })
      build.onLoad({ filter: /^program\/\d+\/core\//, namespace: space }, ({ path }) => {
        const found = program(numberIn(path))
        const name = path.replace(/^program\/\d+\/core\//, '')
        const contents = found.kind === 'core' ? found.core : found.component.cores[name]
        if (contents === undefined) throw new Error(`there is no core module ${name}`)
        return { contents, loader: 'binary' }
      })
    }
  }
}

function numberIn (path: string): number {
  return Number(/^program\/(\d+)/.exec(path)?.[1])
}

/** The module whose default export is a `Program`. */
function codeOf (program: Inspected, path: string): string {
  const from = (part: string): string => JSON.stringify(`skillet-wasm:${path}/${part}`)
  if (program.kind === 'core') return `import core from ${from('core/')}\nexport default { kind: 'core', core }\n`
  const cores = Object.keys(program.component.cores)
  return [
    `import { instantiate } from ${from('code')}`,
    ...cores.map((name, i) => `import core${i} from ${from(`core/${name}`)}`),
    `const cores = { ${cores.map((name, i) => `${JSON.stringify(name)}: core${i}`).join(', ')} }`,
    "export default { kind: 'component', cores, instantiate }", ''
  ].join('\n')
}
