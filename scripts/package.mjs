// Checks the package with tools that its users may run: publint and attw check its exports, and TypeScript, with the
// strictest options, checks a plugin that uses its types. Needs no network.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'skillet-package-'))
process.on('exit', () => { rmSync(folder, { recursive: true, force: true }) })

execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { stdio: ['ignore', 'ignore', 'inherit'] })
const tarball = join(folder, readdirSync(folder).find(name => name.endsWith('.tgz')))

run('publint', ['node_modules/publint/src/cli.js', 'run', tarball, '--strict'])
// The profile `esm-only`, since CommonJS can load the package only by import(), on purpose.
run('attw', ['node_modules/@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only', '--no-emoji'])

// The packed types, together with the types of the dependencies. (The types of xstate don't compile with
// exactOptionalPropertyTypes.)
const installed = join(folder, 'node_modules', 'skillet')
mkdirSync(installed, { recursive: true })
execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
  mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true })
  symlinkSync(join(process.cwd(), 'node_modules', name), join(folder, 'node_modules', name))
}
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
  compilerOptions: {
    target: 'ES2023', module: 'nodenext', moduleResolution: 'nodenext', types: ['node'], strict: true,
    noUncheckedIndexedAccess: true, verbatimModuleSyntax: true, skipLibCheck: false, noEmit: true
  },
  files: ['plugin-types.ts']
}))
copyFileSync('scripts/program/plugin-types.ts', join(folder, 'plugin-types.ts'))
run('tsc', [join(process.cwd(), 'node_modules/typescript/bin/tsc'), '--project', folder])

function run (name, args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${name} finds fault with the package:\n${stdout}${stderr}`)
  console.log(`${name}: the package is well`)
}
