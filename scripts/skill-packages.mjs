// Bundles the packages that only the bundled skills use (skills/package.json) into dist/skills/node_modules. Each
// import is one file, so that a script thread loads one file instead of hundreds, and these packages are not
// dependencies.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const folder = 'dist/skills/node_modules'
const scheme = 'skill-package:'

export async function bundleSkillPackages () {
  const { dependencies: ofProgram } = readJson('package.json')
  const { dependencies: ofSkills } = readJson('skills/package.json')
  const own = Object.keys(ofSkills).filter(name => !(name in ofProgram))
  const specifiers = importedOf('dist/skills').filter(specifier => own.includes(packageOf(specifier)))
  for (const name of own) {
    const entries = specifiers.filter(specifier => packageOf(specifier) === name)
      .map(specifier => [`.${specifier.slice(name.length)}`, `./${fileOf(specifier)}`])
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(
      join(folder, name, 'package.json'),
      `${JSON.stringify({ name, version: ofSkills[name], type: 'module', exports: Object.fromEntries(entries) })}\n`
    )
  }
  // The exports of a CommonJS package are known only after it was loaded. So each package is bundled twice: first to
  // find the names of its exports.
  await bundle(specifiers, () => 'export { all }')
  const names = new Map()
  for (const specifier of specifiers) {
    const { all } = await import(pathToFileURL(join(folder, packageOf(specifier), fileOf(specifier))).href)
    names.set(specifier, Object.keys(all).filter(name => /^[\p{L}$_][\p{L}\p{N}$_]*$/u.test(name)))
  }
  const { metafile } = await bundle(specifiers, specifier =>
    names.get(specifier).map((name, i) => `const value${i} = all.${name}\nexport { value${i} as ${name} }`).join('\n'))
  writeFileSync(join(folder, 'LICENSES.txt'), licencesOf(Object.keys(metafile.inputs)))
}

/** @param exportsOf a function from an import to the code that exports names of `all`, the namespace of the package */
async function bundle (specifiers, exportsOf) {
  return await build({
    entryPoints: specifiers.map(specifier =>
      ({ in: scheme + specifier, out: join(packageOf(specifier), fileOf(specifier).slice(0, -'.mjs'.length)) })),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    minifySyntax: true,
    charset: 'utf8',
    banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
    metafile: true,
    logLevel: 'warning',
    plugins: [{
      name: 'skill-packages',
      setup ({ onResolve, onLoad }) {
        onResolve(
          { filter: new RegExp(`^${scheme}`) },
          ({ path }) => ({ path: path.slice(scheme.length), namespace: scheme })
        )
        onLoad({ filter: /^/, namespace: scheme }, ({ path }) =>
          ({ contents: `import * as all from '${path}'\n${exportsOf(path)}\n`, resolveDir: resolve('skills') }))
      }
    }]
  })
}

/** The specifiers of all packages that compiled files import, such as `csv-parse/sync`. */
function importedOf (place) {
  const files = readdirSync(place, { recursive: true })
    .filter(file => file.endsWith('.js') && !file.includes('node_modules'))
  const found = files.flatMap(file => [...readFileSync(join(place, file), 'utf8').matchAll(
    /^(?:import|export)\s[^'"]*['"]([^.'"][^'"]*)['"]|\bimport\(['"]([^.'"][^'"]*)['"]\)/gm
  )])
  return [...new Set(found.map(([, fixed, later]) => fixed ?? later))].sort()
}

/** The licences of all packages in a bundle. */
function licencesOf (inputs) {
  const folders =
    new Set(inputs.map(input => /^(.*\bnode_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean))
  return [...folders].sort().map(place => {
    const { name, version, license } = readJson(join(place, 'package.json'))
    const files = readdirSync(place).filter(file => /^(licen[cs]e|notice|copying)/i.test(file))
    return [`${name} ${version} (${license})`, ...files.map(file => readFileSync(join(place, file), 'utf8').trim())]
      .join('\n\n')
  }).join(`\n\n${'-'.repeat(80)}\n\n`)
}

function packageOf (specifier) {
  return specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}

/** The file of an import in its package: `sync.mjs` for `csv-parse/sync`, `index.mjs` for `mathjs`. */
function fileOf (specifier) {
  const within = specifier.slice(packageOf(specifier).length + 1)
  return `${within === '' ? 'index' : within}.mjs`
}

function readJson (path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}
