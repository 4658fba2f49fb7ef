import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'

/**
 * Checks that an object is an OpenAPI document, and upgrades one of version 2.0 (Swagger) to 3.0.
 * @param name the file's name or address, for messages
 * @throws Error that says which version it is, and which are read
 */
export async function openDocument (value: JsonObject, name: string): Promise<JsonObject> {
  if (String(value['swagger']).startsWith('2.')) return paths(await upgrade(value, name), name)
  const version = value['openapi']
  if (version === undefined) {
    throw new Error(`${name} is no OpenAPI document: it has neither "openapi": "3.…" nor "swagger": "2.0"`)
  }
  if (typeof version === 'string' && /^3\.[0-2](\.|$)/.test(version)) return paths(value, name)
  throw new Error(`${name} is of OpenAPI ${String(version).slice(0, 20)}; the versions 2.0, 3.0, 3.1 and 3.2 are read`)
}

function paths (document: JsonObject, name: string): JsonObject {
  if (isObject(document['paths'])) return document
  throw new Error(`${name} has no "paths", so there is no operation to call`)
}

async function upgrade (value: JsonObject, name: string): Promise<JsonObject> {
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
  try {
    const upgraded: unknown = upgradeFromTwoToThree(value)
    if (isObject(upgraded)) return upgraded
  } catch (error) {
    throw new Error(`${name} can't be upgraded from version 2.0: ${messageOf(error)}`, { cause: error })
  }
  throw new Error(`${name} can't be upgraded from version 2.0`)
}
