import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { filesMax } from './limits.ts'
import { parseFile } from './parse-document.ts'

/** Reads a file that a document refers to. Rejects when it may not be read, or can't be. */
export type LoadFile = (url: URL) => Promise<Uint8Array>

/** Keys whose values are data, in which a `$ref` means nothing. */
const data = new Set(['example', 'examples', 'default', 'enum', 'const'])

/**
 * Takes the files that a document refers to into the document, each once, under `x-files`, so that all references are
 * within it. A reference to a file that can't be read stays; what needs it can't be called.
 * @param document it is changed
 * @param base its own address: `https://…` or `file:///…`
 * @returns what could not be read, in words
 */
export async function takeInFiles (document: JsonObject, base: string, load: LoadFile): Promise<string[]> {
  const files: JsonObject = {}
  const faults: string[] = []
  const places = new Map([[withoutHash(new URL(base)), '#']])
  const todo: { value: JsonObject, url: string, place: string }[] =
    [{ value: document, url: withoutHash(new URL(base)), place: '#' }]
  for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
    const { url, place } = next
    for (const holder of referencesIn(next.value)) {
      const reference = String(holder['$ref'])
      const target = URL.canParse(reference, url) ? new URL(reference, url) : undefined
      if (target === undefined) continue
      const file = withoutHash(target)
      if (!places.has(file)) {
        const index = places.size
        places.set(file, `#/x-files/${index}`)
        try {
          if (index > filesMax) throw new Error(`a document may refer to ${filesMax} files`)
          const value = await parseFile(await load(new URL(file)), file)
          files[index] = value
          todo.push({ value, url: file, place: `#/x-files/${index}` })
        } catch (error) {
          places.set(file, '')
          faults.push(`${file.slice(0, 200)}: ${messageOf(error)}`)
        }
      }
      const at = places.get(file) ?? ''
      if (at !== '' && (at !== '#' || place !== '#' || !reference.startsWith('#'))) {
        holder['$ref'] = `${at}${target.hash.slice(1)}`
      }
    }
  }
  if (Object.keys(files).length > 0) document['x-files'] = files
  return faults
}

/** The objects with a reference. Not recursive: a document may be deep. */
function referencesIn (root: JsonObject): JsonObject[] {
  const found: JsonObject[] = []
  const todo: unknown[] = [root]
  for (let value = todo.pop(); value !== undefined; value = todo.pop()) {
    if (Array.isArray(value)) {
      for (const inner of value as unknown[]) if (typeof inner === 'object' && inner !== null) todo.push(inner)
    } else if (isObject(value)) {
      if (typeof value['$ref'] === 'string') found.push(value)
      for (const key of Object.keys(value)) {
        const inner = value[key]
        if (typeof inner === 'object' && inner !== null && !data.has(key)) todo.push(inner)
      }
    }
  }
  return found
}

function withoutHash (url: URL): string {
  const copy = new URL(url)
  copy.hash = ''
  return copy.href
}
