import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../../kernel/index.ts'
import { runProgram } from './run-program.ts'

/** A version, a range or a tag of the registry, or another package of it: no address, path or repository. */
const registryRange = /^(?:npm:(?:@[\w.~-]+\/)?[\w.~-]+(?:@[\w.~^<>=*+| -]+)?|[\w.~^<>=*+| -]*)$/i

/**
 * Fetches the npm packages that a skill declares, from the registry of the user's own settings, without running their
 * scripts. npm is started in a folder that has nothing of the skill but the list: settings of npm beside a package
 * (`.npmrc`) can name programs, which npm would start.
 * @param folder the skill's folder, which gets `node_modules`
 * @param workspace a folder without a folder `packages`
 * @throws Error when a package is not of the registry, or can't be fetched
 */
export async function fetchPackages (folder: string, workspace: string, signal: AbortSignal): Promise<void> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return
  const declared: unknown = JSON.parse(text)
  const dependencies = isObject(declared) ? declared['dependencies'] : undefined
  if (!isObject(dependencies) || Object.keys(dependencies).length === 0) return
  for (const [name, range] of Object.entries(dependencies)) {
    if (typeof range === 'string' && registryRange.test(range)) continue
    throw new Error(`its package.json wants ${name} from ${JSON.stringify(range)}, which is not the npm registry`)
  }
  const at = join(workspace, 'packages')
  await mkdir(at)
  await writeFile(join(at, 'package.json'), JSON.stringify({ private: true, dependencies }))
  const options = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--no-bin-links', '--no-package-lock']
  await runProgram('npm', ['install', ...options], { cwd: at, signal })
  await rename(join(at, 'node_modules'), join(folder, 'node_modules'))
}
