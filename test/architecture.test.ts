import { readdirSync, readFileSync, existsSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** The checkout; this file runs as dist/test/architecture.test.js. */
const root = fileURLToPath(new URL('../..', import.meta.url))

interface Import { file: string, specifier: string, typeOnly: boolean, dynamic: boolean }

function sources (folder: string, names = /(?<!\.d)\.ts$/): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.name === 'node_modules') return [] // what the benchmarks compare with has an install of its own
    return entry.isDirectory() ? sources(path, names) : names.test(path) ? [path] : []
  })
}

/** Every import of a file: static, dynamic, re-exports, and modules named by URL for a worker or child. */
function importsOf (file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found: Import[] = []
  // Texts of files that are written for others may begin lines with imports, too.
  const code = text.replaceAll(/`(?:\\.|[^`\\])*`/g, '``')
  const declarations = /^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
  for (const [, type, specifier = ''] of code.matchAll(declarations)) {
    found.push({ file, specifier, typeOnly: type !== undefined, dynamic: false })
  }
  for (const [, specifier = ''] of text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)) {
    found.push({ file, specifier, typeOnly: false, dynamic: true })
  }
  return found
}

const all = ['kernel', 'plugins', 'skills', 'test', 'bench'].flatMap(folder => sources(folder))
const imports = all.flatMap(importsOf)
const within = (folder: string): Import[] => imports.filter(({ file }) => file.startsWith(`${folder}${sep}`))
const isRelative = ({ specifier }: Import): boolean => specifier.startsWith('.')
const target = ({ file, specifier }: Import): string => normalize(join(dirname(file), specifier))
const show = ({ file, specifier }: Import): string => `${file} → ${specifier}`
const packageOf = ({ specifier }: Import): string =>
  specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')

const addons = [
  'lmdb', 'uWebSockets.js', '@btc-vision/uwebsockets.js', 'hnswlib-node', 'onnxruntime-node', 'better-sqlite3',
  '@photostructure/sqlite'
]

t.test('the kernel imports no plugin and no native addon', async t => {
  t.ok(within('kernel').length > 50, 'imports are found at all')
  t.same(within('kernel').filter(isRelative).filter(found => !target(found).startsWith(`kernel${sep}`)).map(show), [])
  t.same(within('kernel').filter(found => [...addons, 'piscina'].includes(packageOf(found))).map(show), [])
})

/** The rooms of the kernel: a file imports from its own room and from rooms of the rows above, types included. */
const rooms = [['lib'], ['contracts'], ['schema', 'secrets'], ['skills', 'executions'], ['operations'], ['boot']]
const roomOf = (file: string): string => file.split(sep)[1] ?? ''
const rowOf = (file: string): number => rooms.findIndex(row => row.includes(roomOf(file)))

t.test('imports between the rooms of the kernel go one way', async t => {
  const inRooms = within('kernel').filter(isRelative).filter(({ file }) => rowOf(file) >= 0)
  t.same([...new Set(inRooms.map(({ file }) => roomOf(file)))].sort(), rooms.flat().sort(), 'every room is there')
  const others = within('kernel').filter(({ file }) => rowOf(file) < 0).map(({ file }) => file)
  t.same(
    [...new Set(others)].sort(),
    [join('kernel', 'index.ts'), join('kernel', 'plugin.ts')],
    'every file that imports is in a room, but for the entries'
  )
  const upwards = inRooms.filter(found =>
    roomOf(target(found)) !== roomOf(found.file)
    && !(rowOf(target(found)) >= 0 && rowOf(target(found)) < rowOf(found.file)))
  t.same(upwards.map(show), [])
})

t.test('no files import each other in a circle, types included, unless one is loaded later', async t => {
  const targets = new Map<string, string[]>()
  const program = [...within('kernel'), ...within('plugins'), ...within('skills')]
  for (const found of program.filter(found => isRelative(found) && !found.dynamic)) {
    targets.set(found.file, [...targets.get(found.file) ?? [], target(found)])
  }
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file) || path.includes(file)) return
    for (const next of targets.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  t.same(circles, [])
})

/** What puts plugins together: the program, its settings, and the kernel that tests of plugins run in. */
const composers = new Set([join('plugins', 'main.ts'), join('plugins', 'settings.ts'), join('plugins', 'testing', 'kernel.ts')])

t.test('a plugin imports kernel/index.ts, plugins/toolkit and its own folder, never another plugin', async t => {
  const strangers = within('plugins').filter(isRelative).filter(({ file }) => !composers.has(file)).filter(found => {
    const own = found.file.split(sep).slice(0, 2).join(sep)
    const isShared = target(found).startsWith(join('plugins', 'toolkit', ''))
    return target(found) !== join('kernel', 'index.ts') && !target(found).startsWith(`${own}${sep}`) && !isShared
  })
  t.same(strangers.map(show), [])
})

t.test('of the project, a skill imports kernel/skill.ts, its own folder and skills/shared only, which imports itself and plugins/toolkit/net', async t => {
  // What may be fetched is decided in one place for all that fetches, skills and plugins.
  const shared = join('skills', 'shared')
  const strangers = within('skills').filter(isRelative).filter(found => {
    const own = found.file.split(sep).slice(0, 2).join(sep)
    const allowed = own === shared ? [shared, join('plugins', 'toolkit', 'net')] : [own, shared]
    return target(found) !== join('kernel', 'skill.ts')
      && !allowed.some(folder => target(found).startsWith(`${folder}${sep}`))
  })
  t.same(strangers.map(show), [])
})

t.test('each native addon is imported in one plugin, in one file', async t => {
  for (const addon of addons) {
    const files = new Set([
      ...within('kernel'), ...within('plugins'), ...within('skills')
    ].filter(found => packageOf(found) === addon).filter(({ typeOnly }) => !typeOnly).map(({ file }) => file))
    t.ok(files.size <= 1, `${addon}: ${[...files].join(', ')}`)
  }
})

t.test('only plugins/main.ts names concrete plugins, and the kernel for tests two of them', async t => {
  const named = within('plugins').filter(({ file, specifier }) =>
    !composers.has(file) && /\/(http|mcp|cli|storage-|search-|executor-|skills-)[a-z-]*\/index\.ts$/.test(specifier))
  t.same(named.map(show), [])
})

interface Manifest {
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
  devDependencies: Record<string, string>
}
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
const outside = imports.filter(found =>
  !isRelative(found) && !found.specifier.startsWith('node:') && !builtinModules.includes(packageOf(found)))
const namesIn = (pattern: RegExp): Set<string> =>
  new Set(outside.filter(({ file }) => pattern.test(file)).map(packageOf))

t.test('every package that is imported is in package.json, and every dependency is imported', async t => {
  const manifest = manifestOf('.')
  const runtime = { ...manifest.dependencies, ...manifest.optionalDependencies }
  const needed = namesIn(/^(kernel|plugins)/)
  t.same([...needed].filter(name => !(name in runtime)), [], 'missing from dependencies')
  t.same(
    [...namesIn(/^(kernel|plugins|test|bench)/)]
      .filter(name => !(name in runtime) && !(name in manifest.devDependencies)),
    [],
    'missing altogether'
  )
  // Can't be bundled, so that they are installed with the program.
  const native = Object.keys(manifestOf('skills').optionalDependencies)
  t.same(Object.keys(runtime).filter(name => !needed.has(name) && !native.includes(name)), [], 'left over')
  // An optional one may be missing: only what can fail and go on may ask for it.
  const fixed = outside.filter(found =>
    packageOf(found) in manifest.optionalDependencies && !found.typeOnly && !found.dynamic)
  t.same(fixed.map(show), [], 'optional, and imported without a way out')
})

// Each thread and each confined process loads them again: the heap of a tool begins with what they hold.
t.test('threads and confined processes of scripts load no package', async t => {
  for (const file of ['thread/worker.js', 'process/entry.js']) {
    const code = readFileSync(join(root, 'dist/plugins/executor-worker', file), 'utf8')
    t.same(code.match(/^\/\/ node_modules\/\S+/gm) ?? [], [], file)
    t.match(code, /^\/\/ dist\/plugins\/executor-worker\//m, 'the bundle names its modules')
  }
})

t.test('every package that the bundled skills import is in their own package.json, in the version that the program has of it', async t => {
  const { dependencies, optionalDependencies } = manifestOf('skills')
  const program = manifestOf('.')
  t.same(Object.keys({ ...dependencies, ...optionalDependencies }).sort(), [...namesIn(/^skills/)].sort())
  for (const [name, version] of Object.entries(dependencies)) {
    t.equal(program.dependencies[name] ?? version, version, name)
  }
  t.match(program.optionalDependencies, optionalDependencies)
})

t.test('every import of a file of ours names one that is there', async t => {
  t.same(imports.filter(isRelative).filter(found => !existsSync(join(root, target(found)))).map(show), [])
})

/** The literals of a line: strings, templates and regular expressions. */
const literals =
  /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:[!] ?)\/(?![*/ ])(?:\\.|[^/\\])+\/[a-z]*/g

/** Whether a line is longer than 120 characters, and no literal in it is longer than 80. */
function isTooLong (line: string): boolean {
  return line.length > 120 && !(line.match(literals) ?? []).some(literal => literal.length > 80)
}

t.test('a line has at most 120 characters, unless it has a literal of more than 80', async t => {
  const files = ['kernel', 'plugins', 'skills', 'test', 'bench', 'scripts']
    .flatMap(folder => sources(folder, /\.(ts|mjs|js)$/))
    .filter(file => !file.startsWith(join('test', 'fixtures', 'skill-engine', ''))) // as others write them
  const found = files.flatMap(file => {
    // The lines within a template, such as those of a program, are its own.
    const code = readFileSync(join(root, file), 'utf8').replaceAll(/`(?:\\.|[^`\\])*`/g, template =>
      template.includes('\n') ? `\`${template.replaceAll(/[^\n]/g, '')}\`` : template)
    return code.split('\n').flatMap((line, i) => isTooLong(line) ? [`${file}:${i + 1}`] : [])
  })
  t.same(found, [])
})

t.test('the files that a newcomer looks for are there', async t => {
  for (const file of [
    'README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'package-lock.json', '.ci/run'
  ]) {
    t.ok(existsSync(join(root, file)), file)
  }
})
