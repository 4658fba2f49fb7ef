import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import type { JsonObject } from '../contracts/schemas.ts'
import { messageOf } from '../lib/errors.ts'
import { isAbsent } from '../lib/file.ts'

/** The sources of settings, in the order of their priority, the highest first. */
export interface ConfigSources {
  /**
   * Values by path, such as `server.port`, from the command line. The items of a list are added to the list from the
   * variable or the file.
   */
  flags: Readonly<Record<string, unknown>>
  env: Readonly<Record<string, string | undefined>>
  /**
   * The file that `--config` names. Default: `skillet.toml` in `cwd`, then `skillet.toml` in `skillet/` under the
   * user's configuration directory.
   */
  file?: string
  cwd: string
}

/** The existing configuration file, in `cwd` or in the user's configuration directory. */
export function findFile (env: ConfigSources['env'], cwd: string): string | undefined {
  return [join(cwd, 'skillet.toml'), join(configHome(env), 'skillet.toml')].find(isThere)
}

/**
 * The path of the configuration file. When there is no file, the path where a new file would be: in `skillet/` under
 * the user's configuration directory.
 */
export function configFile ({ file, env, cwd }: Omit<ConfigSources, 'flags'>): string {
  return file === undefined ? findFile(env, cwd) ?? join(configHome(env), 'skillet.toml') : resolve(cwd, file)
}

/** `skillet` under the user's configuration directory (XDG). */
export function configHome (env: ConfigSources['env']): string {
  return join(absolute(env['XDG_CONFIG_HOME']) ?? join(homedir(), '.config'), 'skillet')
}

/** `skillet` under the user's data directory (XDG). */
export function dataHome (env: ConfigSources['env']): string {
  return join(absolute(env['XDG_DATA_HOME']) ?? join(homedir(), '.local', 'share'), 'skillet')
}

/** A path that may begin with `~/`, the user's home directory. */
export function fromHome (path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
}

/** The XDG specification says that a relative path in these variables must be ignored. */
function absolute (path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined
}

function isThere (path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch (error) {
    return !isAbsent(error)
  }
}

/** Reads a configuration file. @throws Error with the name of the file, and the line of a TOML error */
export function readFile (path: string): JsonObject {
  let text
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`configuration ${path} can't be read: ${messageOf(error)}`, { cause: error })
  }
  try {
    return parse(text)
  } catch (error) {
    const where = error instanceof TomlError ? `:${error.line}:${error.column}` : ''
    throw new Error(`configuration ${path}${where} is not valid TOML: ${messageOf(error).split('\n')[0]}`, {
      cause: error
    })
  }
}
