import { accessSync, constants } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * A program in C that the build compiled.
 * @param base its URL, without the system and the processor at its end
 * @returns undefined where the build found no compiler for this system
 */
export function compiledFile (base: URL): string | undefined {
  const file = `${fileURLToPath(base)}-${process.platform}-${process.arch}`
  try {
    accessSync(file, constants.X_OK)
    return file
  } catch {
    return undefined
  }
}
