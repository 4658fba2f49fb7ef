// Builds dist/program from the compiled files: bundled, since loading hundreds of small modules takes longer than all
// else that a short command does, and with V8's code beside it. The compiled files stay as they are, for tests, which
// import them one by one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'

const folder = 'dist/program'
/** Stands in a bundle for the way from its file to dist/, until the file's place is known. */
const root_mark = '__SKILLET_DIST__'
/**
 * First of all: without a listener, a signal of any process of the same user would start Node's inspector, on a port
 * without a key.
 */
const refuseInspector = "process.on('SIGUSR1', () => {})\n"
/** The program is run by its path; others are imported by their name. */
const entries = {
  main: 'dist/plugins/main.js', skillet: 'dist/kernel/index.js', skill: 'dist/kernel/skill.js',
  plugin: 'dist/kernel/plugin.js', testing: 'dist/plugins/testing/index.js'
}

/**
 * Piscina is bundled too, for its code. It looks for a file beside this one of its own; what it means by that, and what
 * tells it.
 */
const piscina = {
  file: /\/piscina\/dist\/index\.js$/,
  place: '__dirname',
  means: "require('node:path').dirname(require.resolve('piscina'))"
}

/**
 * Its parts and the kernel's public surface share their chunks, so that a further plugin meets the same kernel as the
 * program.
 * @param shared options of esbuild
 */
export async function buildProgram (shared) {
  const { outputFiles, metafile } = await build({
    ...shared,
    entryPoints: entries,
    outdir: folder,
    splitting: true,
    entryNames: 'chunks/[name]',
    chunkNames: 'chunks/[name]-[hash]',
    external: shared.external.filter(name => name !== 'piscina'),
    plugins: [{ name: 'places', setup: keepPlaces }],
    write: false,
    metafile: true
  })
  mkdirSync(join(folder, 'chunks'), { recursive: true })
  for (const { path, text } of outputFiles) {
    const file = relative('.', path)
    writeFileSync(
      file,
      await asFunction(file, text.replaceAll(root_mark, relative(dirname(file), 'dist')), metafile.outputs[file])
    )
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n')
  copyFileSync(fileURLToPath(new URL('loader.cjs', import.meta.url)), join(folder, 'loader.js'))
  writeFileSync(join(folder, 'main.js'), `#!/usr/bin/env node\n'use strict'\n${refuseInspector}require('./loader.js').load(require('node:path').join(__dirname, 'chunks/main.js'))\n`)
  for (const name of Object.keys(entries).filter(name => name !== 'main')) {
    const { exports } = metafile.outputs[join(folder, 'chunks', `${name}.js`)]
    writeFileSync(join(folder, `${name}.mjs`), `import { fileURLToPath } from 'node:url'\nimport loader from './loader.js'\nexport const {\n  ${exports.join(', ')}\n} = loader.load(fileURLToPath(new URL('chunks/${name}.js', import.meta.url)))\n`)
  }
}

/**
 * A module of the bundle as the expression of a function that the loader calls: V8 can keep the code of scripts, and
 * Node 20 only that.
 */
async function asFunction (file, text, { imports }) {
  const { code } = await transform(text, {
    format: 'cjs', platform: 'node', target: 'node20', sourcefile: `${basename(file)}.mjs`,
    define: { 'import.meta.url': '__url' }, logLevel: 'warning'
  })
  const own = new Set(
    imports.filter(({ external }) => !external).map(({ path }) => `./${relative(dirname(file), path)}`)
  )
  const found = new Set()
  const linked = code.replaceAll(/\b(require|import)\("(\.\/[^"]+)"\)/g, (call, kind, path) => {
    if (!own.has(path)) return call
    found.add(path)
    return kind === 'require' ? `__load("${path}")` : `Promise.resolve().then(() => __load("${path}"))`
  })
  for (const path of own) {
    if (!found.has(path)) throw new Error(`${file} imports ${path} in a form that is not known here`)
  }
  return `(function (module, exports, require, __load, __import, __url) {${linked.replaceAll(/(?<!\{)\bimport\(/g, '__import(')}})\n`
}

/** In a chunk, `import.meta.url` would tell where the chunk is; a module means where itself is. */
function keepPlaces (build) {
  build.onLoad({ filter: /\/dist\/(kernel|plugins)\/.*\.js$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8')
    const url = `new URL(${JSON.stringify(`${root_mark}/${relative('dist', path)}`)}, import.meta.url).href`
    return { contents: text.replaceAll('import.meta.url', url), loader: 'js' }
  })
  build.onLoad({ filter: piscina.file }, ({ path }) => {
    const text = readFileSync(path, 'utf8')
    if (text.split(piscina.place).length !== 2) throw new Error(`${path} does not ask once for its place`)
    return { contents: text.replace(piscina.place, piscina.means), loader: 'js' }
  })
}

/**
 * Runs the commands that are run most, one after the other, each with the code that those before it left, so that in
 * the end the code of all is kept. Without it commands start slower, and nothing else.
 */
export async function keepCode () {
  const home = mkdtempSync(join(tmpdir(), 'skillet-build-'))
  try {
    const skill = join(home, 'skills', 'native')
    mkdirSync(skill, { recursive: true })
    writeFileSync(join(skill, 'skill.toml'), `description = "A command"\n[[tools]]\nname = "version"\ndescription = "Tells the version"\ncommand = ["${process.execPath}", "--version"]\n`)
    for (const command of [
      ['list'], ['run', 'text:count', 'text=a'], ['run', 'native:version', '--skills', dirname(skill)], ['history']
    ]) {
      await run(command, {
        PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: join(home, 'data')
      })
    }
  } finally {
    rmSync(home, { recursive: true })
  }
}

/** Runs a command to its end. */
async function run (command, env) {
  const child = spawn(
    process.execPath,
    ['--require', fileURLToPath(new URL('keep-code.cjs', import.meta.url)), join(folder, 'main.js'), ...command],
    { env, stdio: ['ignore', 'ignore', 'inherit'] }
  )
  const [status] = await once(child, 'exit')
  if (status !== 0) throw new Error(`skillet ${command.join(' ')} ended with ${status}`)
}
