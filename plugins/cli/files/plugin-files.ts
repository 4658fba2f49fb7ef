import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pluginApi, readVersion, type Slot } from '../../../kernel/index.ts'

/** The folder of the installed program: a package with the entry points that plugins import. */
export const packageFolder = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * The files of a new plugin, by name: the plugin works without changes, and so does its test. They are the examples of
 * docs/plugins.md, so that the documentation and the written files are the same.
 */
export function pluginFiles (slot: Slot, name: string): Record<string, string> {
  const page = readFileSync(new URL('../../../../docs/plugins.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/<!-- file ([a-z]+)\/(\S+) -->\n```js\n([^]*?)^```$/gm)]
    .filter(([, of]) => of === slot)
  if (examples.length === 0) throw new Error(`docs/plugins.md has no example of the slot ${slot}`)
  return {
    ...Object.fromEntries(examples.map(([, , file = '', text = '']) => [file, text.replaceAll(`my-${slot}`, name)])),
    'package.json': `${JSON.stringify(manifest(slot, name), undefined, 2)}\n`
  }
}

function manifest (slot: Slot, name: string): object {
  const { version } = readVersion()
  return {
    name,
    version: '0.1.0',
    description: `A plugin for Skillet, of the slot ${slot} (plugin API ${pluginApi})`,
    type: 'module',
    exports: './index.js',
    files: ['index.js'],
    scripts: { test: 'node --test' },
    // Users of the plugin have Skillet already; npm should not install another one.
    peerDependencies: { skillet: `^${version}` },
    peerDependenciesMeta: { skillet: { optional: true } },
    devDependencies: { skillet: `file:${packageFolder.replace(/[/\\]$/, '')}` }
  }
}
