import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/**
 * The file of a program: an absolute path, or a name that is looked up in a list of folders.
 * @param path the folders, as in the variable PATH
 * @returns undefined where there is no such file that may be executed
 */
export async function findProgram (
  program: string, path = process.env['PATH'] ?? ''
): Promise<string | undefined> {
  const files = isAbsolute(program)
    ? [program]
    : path.split(delimiter).map(folder => join(folder === '' ? '.' : folder, program))
  for (const file of files) {
    if (await access(file, constants.X_OK).then(async () => (await stat(file)).isFile(), () => false)) return file
  }
  return undefined
}
