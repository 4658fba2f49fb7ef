import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
