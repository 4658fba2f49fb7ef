import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pythonPackageOf } from '../../toolkit/python-packages.ts'
import { isThere, readText } from '../shared/files.ts'
import { importsOf as nodeImportsOf } from './node-script.ts'
import { importsOf as pythonImportsOf } from './python-script.ts'
import { SCRIPTS } from '../shared/script-files.ts'
import type { NodeImports, PythonImport } from './script-reading.ts'

/** The maximum size of a module whose imports are read, in bytes, and the maximum number of modules for a script. */
const moduleBytesMax = 262_144
const modulesMax = 100
const requirementsBytesMax = 65_536

/** The imports of modules by path, so that each module of a skill is read once. */
export type ModuleCache<T> = Map<string, T>

/**
 * The external modules that a Python script needs: it imports them itself, or through other modules of the skill.
 */
export function pythonModules (script: string, folder: string, cache: ModuleCache<PythonImport[]>): string[] {
  const roots = [dirname(script), folder]
  const outside = new Set<string>()
  const seen = new Set<string>([script])
  for (const path of seen) {
    // The loop adds to the set that it iterates over.
    if (seen.size > modulesMax) break
    for (const { module, names, level } of importsFrom(path, cache, pythonImportsOf, [])) {
      const parts = module === '' ? [] : module.split('.')
      const from = level > 0 ? [up(dirname(path), level - 1)] : roots
      const root = from.find(root => parts[0] === undefined || isModule(join(root, parts[0])))
      if (root === undefined) {
        if (level === 0 && parts[0] !== undefined) outside.add(parts[0])
        continue
      }
      const packages = parts.map((_, i) => join(root, ...parts.slice(0, i + 1)))
      const below = [...packages, ...names.map(name => join(root, ...parts, name))]
      for (const file of below.flatMap(path => [`${path}.py`, join(path, '__init__.py')])) {
        if (isFile(file)) seen.add(file)
      }
    }
  }
  return [...outside].sort()
}

/** The packages that a script for Node.js needs: it imports them itself, or through other files of the skill. */
export function nodePackages (script: string, folder: string, cache: ModuleCache<NodeImports>): string[] {
  const outside = new Set<string>()
  const seen = new Set<string>([script])
  for (const path of seen) {
    if (seen.size > modulesMax) break
    const { packages, files } = importsFrom(path, cache, nodeImportsOf, { packages: [], files: [] })
    for (const name of packages) outside.add(name)
    for (const file of files) {
      const at = join(dirname(path), file)
      const modulePath = [
        at,
        `${at}.js`,
        `${at}.mjs`,
        `${at}.cjs`,
        `${at}.ts`,
        at.replace(/\.([cm]?)js$/, '.$1ts'),
        join(at, 'index.js')
      ].find(file => isFile(file))
      if (modulePath?.startsWith(folder) === true) seen.add(modulePath)
    }
  }
  return [...outside].sort()
}

function importsFrom<T> (path: string, cache: ModuleCache<T>, read: (text: string) => T, nothing: T): T {
  let imports = cache.get(path)
  if (imports === undefined) {
    try {
      imports = read(readText(path, moduleBytesMax))
    } catch {
      imports = nothing // invalid source: running it reports the error
    }
    cache.set(path, imports)
  }
  return imports
}

function isModule (path: string): boolean {
  return isFile(`${path}.py`) || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isFile (path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function up (path: string, levels: number): string {
  return levels <= 0 ? path : up(dirname(path), levels - 1)
}

const versionRanges = /^(?:\s*,?\s*(?:===|[<>=!~]=?)\s*[\w.*+!-]+)+\s*$/

/**
 * The requirements that the skill declares, in the form that pip uses, by the name of the package: `pillow` →
 * `pillow>=10`.
 */
export function requirementsOf (
  folder: string,
  texts: readonly string[],
  inline: readonly string[] = []
): Map<string, string> {
  const lines = [...inline]
  for (const file of [join(folder, 'requirements.txt'), join(folder, SCRIPTS, 'requirements.txt')]) {
    if (!isThere(file)) continue
    try {
      lines.push(...readText(file, requirementsBytesMax).split('\n'))
    } catch {} // not a text
  }
  for (const text of texts) {
    for (const [, list = ''] of text.matchAll(/\b(?:pip[\d.]*|uv pip) install\s+([^\n`;&|#]+)/g))
      lines.push(...list.split(/\s+/).map(word => word.replace(/^["']|["'.,)]+$/g, '')))
  }
  const requirements = new Map<string, string>()
  for (const line of lines) {
    const [whole, name, versions = ''] = /^([A-Za-z0-9][\w.-]*)(?:\[[\w,.-]*\])?([^;#]*)/.exec(line.trim()) ?? []
    const requirement = versions.trim() === '' || versionRanges.test(versions) ? whole?.trim() : undefined
    if (requirement !== undefined && name !== undefined && !requirements.has(normal(name)))
      requirements.set(normal(name), requirement.replaceAll(' ', ''))
  }
  return requirements
}

/** The package of each Python module, by the name that pip uses, or as a requirement that the skill declares. */
export function packagesOf (
  modules: readonly string[],
  requirements: ReadonlyMap<string, string>
): Record<string, string> {
  return Object.fromEntries(
    modules.map(module => {
      const name = pythonPackageOf(module) ?? module
      return [module, requirements.get(normal(name)) ?? requirements.get(normal(module)) ?? name]
    })
  )
}

function normal (name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-')
}
