import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The folder in which imported skills of the Skill Engine are, each of its folders like a configured directory.
 * @param config_home `skillet` under the user's configuration directory
 */
export function skillEngineFolder (config_home: string): string {
  return join(config_home, 'skill-engine')
}

/** The absolute paths of the folders that `skillet import skill-engine` has copied. */
export async function importedFolders (config_home: string): Promise<string[]> {
  const folder = skillEngineFolder(config_home)
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => join(folder, name)).sort()
}
