import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadPlugins } from '../../../kernel/boot/plugin-load.ts'
import { definePlugin, pluginApi } from '../../../kernel/index.ts'
import { startKernel } from '../../support/kernel.ts'

const cwd = mkdtempSync(join(tmpdir(), 'skillet-plugins-'))
const source = (name: string): string =>
  `export default { name: '${name}', api: 1, slot: 'transport', setup: () => ({ url: 'x:${name}' }) }`

function install (name: string, manifest: object, file: string, text: string): void {
  const home = join(cwd, 'node_modules', name)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name, type: 'module', ...manifest }))
  writeFileSync(join(home, file), text)
}

t.test('a plugin is loaded by path, and by the name of a package in the working directory or above', async t => {
  writeFileSync(join(cwd, 'mine.mjs'), source('mine'))
  install('by-main', { main: 'entry.js' }, 'entry.js', source('by-main'))
  install(
    'by-exports', { exports: { '.': { types: './t.d.ts', import: './entry.js' } } }, 'entry.js', source('by-exports')
  )
  install('@scope/bare', {}, 'index.js', source('bare'))
  const below = join(cwd, 'a', 'b')
  mkdirSync(below, { recursive: true })
  const plugins = await loadPlugins([join(cwd, 'mine.mjs'), 'by-main', 'by-exports', '@scope/bare'], below)
  t.same(plugins.map(({ name }) => name), ['mine', 'by-main', 'by-exports', 'bare'])
  const { kernel, close } = await startKernel({ plugins })
  t.teardown(close)
  t.same(kernel.urls, ['x:mine', 'x:by-main', 'x:by-exports', 'x:bare'], 'they start like our own')
})

/** Writes files in a folder beside those of the other tests, and returns its path. */
function folderOf (name: string, files: Record<string, string>): string {
  const folder = join(cwd, name)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

t.test('a folder is loaded as a package is: by its package.json, or else its index.js', async t => {
  const exported = '{ "type": "module", "exports": { ".": { "import": "./lib/entry.js" } }, "main": "./other.js" }'
  const folders = [
    folderOf('by-exports', { 'package.json': exported, 'lib/entry.js': source('folder-by-exports') }),
    folderOf('by-main', { 'package.json': '{ "main": "entry.mjs" }', 'entry.mjs': source('folder-by-main') }),
    folderOf('no-entry', { 'package.json': '{ "type": "module" }', 'index.js': source('folder-no-entry') }),
    folderOf('bare', { 'index.js': source('folder-bare') })
  ]
  const names = ['folder-by-exports', 'folder-by-main', 'folder-no-entry', 'folder-bare']
  t.same((await loadPlugins([...folders.slice(0, 3), `${folders[3]}/`], cwd)).map(({ name }) => name), names)
  await t.rejects(loadPlugins([folderOf('empty', { 'README.md': '' })], cwd), /empty" can't be loaded: .*index\.js/)
  const broken = folderOf('broken', { 'package.json': '{', 'index.js': source('broken') })
  await t.rejects(loadPlugins([broken], cwd), /broken" can't be loaded: .*package\.json is not JSON/)
})

const defined = (name: string): string =>
  `definePlugin({ name: '${name}', slot: 'transport', setup: () => ({ url: 'x:' }) })`
const lone = (name: string): string => `import { definePlugin } from 'skillet/plugin'\nexport default ${defined(name)}`

t.test('a plugin outside of any project finds the modules of the running Skillet, and only these', async t => {
  const folder = folderOf('lone', {
    'clock.mjs': `import 'skillet'\nimport 'skillet/testing'\nimport 'skillet/skill'\n${lone('clock')}`,
    'other.mjs': 'import \'skillet/other\'',
    'absent.mjs': 'import \'skillet-absent\''
  })
  t.match(await loadPlugins([join(folder, 'clock.mjs')], cwd), [{ name: 'clock', api: pluginApi }])
  await t.rejects(loadPlugins([join(folder, 'other.mjs')], cwd), /other\.mjs".*Cannot find package 'skillet'/)
  await t.rejects(loadPlugins([join(folder, 'absent.mjs')], cwd), /Cannot find package 'skillet-absent'/)
})

t.test('a package above a plugin has precedence: its definePlugin tells for which version a plugin is', async t => {
  const folder = folderOf('project', {
    'node_modules/skillet/package.json': '{ "type": "module", "exports": { "./plugin": "./plugin.js" } }',
    'node_modules/skillet/plugin.js': 'export const definePlugin = plugin => ({ api: 2, ...plugin })',
    'plugin.mjs': lone('newer')
  })
  await t.rejects(loadPlugins([join(folder, 'plugin.mjs')], cwd), /the plugin newer\) was made for version 2/)
})

const skip = !('registerHooks' in module) && 'this Node.js requires only what is installed'
t.test('a plugin outside of any project may require them', { skip }, async t => {
  const text = `const { definePlugin } = require('skillet/plugin')\nmodule.exports = ${defined('old')}`
  t.match(await loadPlugins([join(folderOf('old', { 'old.cjs': text }), 'old.cjs')], cwd), [{ name: 'old' }])
})

t.test('what can not be loaded is named', async t => {
  writeFileSync(join(cwd, 'none.mjs'), 'export default { name: "none" }')
  writeFileSync(join(cwd, 'throws.mjs'), 'throw new Error("out of order")')
  await t.rejects(loadPlugins(['no-such-package'], cwd), /plugins: "no-such-package" can't be loaded/)
  await t.rejects(loadPlugins([join(cwd, 'absent.mjs')], cwd), /absent\.mjs" can't be loaded/)
  await t.rejects(loadPlugins([join(cwd, 'throws.mjs')], cwd), /out of order/)
  await t.rejects(loadPlugins([join(cwd, 'none.mjs')], cwd), /has no plugin as its default export/)
})

t.test('a plugin that was made for another version of the API is refused by its name, with what to do', async t => {
  const refused = async (text: string, pattern: RegExp): Promise<void> => {
    const file = join(cwd, `api-${count++}.mjs`)
    writeFileSync(file, text)
    await t.rejects(loadPlugins([file], cwd), pattern)
  }
  let count = 0
  const plugin = "name: 'odd', slot: 'transport', setup: () => ({})"
  await refused(`export default { ${plugin}, api: 2 }`, /api-0\.mjs" \(the plugin odd\) was made for version 2 of the plugin API, and this Skillet has version 1: install a newer Skillet, or an older/)
  await refused(
    `export const api = 0\nexport default { ${plugin} }`,
    /made for version 0 .*: install a newer version of the plugin$/
  )
  await refused(
    `export default { ${plugin} }`,
    /the plugin odd\) does not say for which version .*: make it with definePlugin, or give it "api: 1"/
  )
  await refused(`export default { ${plugin}, api: '1' }`, /does not say/)

  const file = join(cwd, 'module-api.mjs')
  writeFileSync(file, `export const api = 1\nexport default { ${plugin} }`)
  t.match(await loadPlugins([file], cwd), [{ name: 'odd' }], 'the module may say it')
  t.equal(definePlugin({ name: 'ours', slot: 'transport', setup: () => ({}) }).api, pluginApi)
})
