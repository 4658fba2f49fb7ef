import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { SkillDefinition } from '../../../kernel/index.ts'

/**
 * The folder that a confined server keeps: many are started by programs that load packages first, such as npx and uvx.
 * It is its own, so that no server can change what a program of the user runs.
 */
export function serverCacheFolder ({ name, directory }: Pick<SkillDefinition, 'name' | 'directory'>): string {
  const given = process.env['XDG_CACHE_HOME'] ?? ''
  const caches = isAbsolute(given) ? given : join(homedir(), '.cache')
  return join(caches, 'skillet', 'mcp', `${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`)
}

/** The variables by which these programs find it. @param folders the folder, or none */
export function cacheVariables ([folder]: readonly string[]): Record<string, string> {
  if (folder === undefined) return {}
  return {
    XDG_CACHE_HOME: folder,
    npm_config_cache: join(folder, 'npm'),
    UV_PYTHON_INSTALL_DIR: join(folder, 'uv-python'),
    DENO_DIR: join(folder, 'deno'),
    BUN_INSTALL_CACHE_DIR: join(folder, 'bun')
  }
}
