// Makes Python environments with exact versions of packages, for checks that use third-party programs.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The message of pip when it can't reach a registry: it knows no version at all. Otherwise it lists other versions. */
const unreachable = /\(from versions: none\)/

/**
 * Makes a virtual environment in a folder.
 * @param requirements the packages, such as `attrs==26.1.0`
 * @returns the folder of its programs; undefined when the registry can't be reached, or there is no Python
 */
export function pythonWith (folder, requirements) {
  const bin = join(folder, 'venv', 'bin')
  if (spawnSync('python3', ['-m', 'venv', join(folder, 'venv')], { stdio: 'inherit' }).status !== 0) return undefined
  const { status, stderr } = spawnSync(
    join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...requirements], { encoding: 'utf8' }
  )
  if (status === 0) return bin
  if (unreachable.test(stderr)) return undefined
  throw new Error(`pip could not install ${requirements.join(' ')}: ${stderr}`)
}
