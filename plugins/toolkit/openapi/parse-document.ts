import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { depthMax, documentBytesMax, yamlBytesMax } from './limits.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a file in JSON or YAML.
 * @param name the file's name or address, for messages
 * @throws Error that names the file and says what is wrong with it
 */
export async function parseFile (bytes: Uint8Array, name: string): Promise<JsonObject> {
  if (bytes.length > documentBytesMax) {
    throw new Error(`${name} has ${bytes.length} bytes; the most is ${documentBytesMax}`)
  }
  const value = await parse(bytes, name)
  if (!isObject(value)) throw new Error(`${name} holds no object`)
  refuseDeep(value, name)
  return value
}

async function parse (bytes: Uint8Array, name: string): Promise<unknown> {
  let text
  try {
    text = utf8.decode(bytes)
  } catch (error) {
    throw new Error(`${name} is not valid UTF-8`, { cause: error })
  }
  try {
    if (/^\s*[{[]/.test(text.slice(0, 1_000))) return JSON.parse(text)
  } catch (error) {
    // What begins with a brace may be YAML nevertheless.
    if (bytes.length > 1_048_576) throw new Error(`${name} is not valid JSON: ${line(error)}`, { cause: error })
  }
  if (bytes.length > yamlBytesMax) {
    throw new Error(`${name} has ${bytes.length} bytes of YAML; the most is ${yamlBytesMax}; larger ones can be JSON`)
  }
  const { parse: parseYaml } = await import('yaml')
  try {
    return parseYaml(text, { maxAliasCount: 100, uniqueKeys: false, logLevel: 'error' })
  } catch (error) {
    throw new Error(`${name} is neither valid JSON nor valid YAML: ${line(error)}`, { cause: error })
  }
}

function line (error: unknown): string {
  return messageOf(error).split('\n', 1)[0]?.slice(0, 200) ?? ''
}

/** Refuses what nests too deeply, such as YAML whose anchors lead in a circle. Not recursive itself. */
function refuseDeep (root: object, name: string): void {
  let level: object[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) throw new Error(`${name} is nested deeper than ${depthMax} levels`)
    const next: object[] = []
    for (const value of level) {
      if (Object.hasOwn(value, '__proto__')) throw new Error(`${name} has a key "__proto__", which is not allowed`)
      for (const inner of Object.values(value) as unknown[]) {
        if (typeof inner === 'object' && inner !== null) next.push(inner)
      }
    }
    level = next
  }
}
