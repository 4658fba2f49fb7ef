import { ProtocolError, ProtocolErrorCode, type McpServer } from '@modelcontextprotocol/server'
import { getSkill, isObject, SkilletError, type Call, type Gateway, type JsonObject } from '../../../kernel/index.ts'
import { callOf } from './call.ts'

/** The number of addresses to which one client may subscribe. */
const followedMax = 1_000

/** The URI of a skill's instructions. */
export function instructionsUri (name: string): string {
  return `skill://${name}/SKILL.md`
}

/** The subscriptions of a 2025 client, on one connection; the SDK keeps those of 2026 clients, which use streams. */
export class Subscriptions {
  readonly #followed = new Set<string>()

  constructor ({ server }: McpServer, gateway: Gateway) {
    server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, ctx) => {
      const refusal = await refusalOf(uri, callOf(ctx), gateway)
      if (refusal !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusal)
      if (this.#followed.size >= followedMax && !this.#followed.has(uri)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `A client may follow ${followedMax} resources`)
      }
      this.#followed.add(uri)
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      this.#followed.delete(uri)
      return {}
    })
  }

  has (uri: string): boolean {
    return this.#followed.has(uri)
  }
}

/**
 * Removes from a request for a stream of changes the addresses to which its caller may not subscribe, and those above
 * the limit. The client gets the remaining addresses in the answer.
 */
export async function withinRights (request: JsonObject, call: Call, gateway: Gateway): Promise<JsonObject> {
  const { params } = request
  const wanted = isObject(params) ? params['notifications'] : undefined
  const uris = isObject(wanted) ? wanted['resourceSubscriptions'] : undefined
  if (!isObject(params) || !isObject(wanted) || !Array.isArray(uris)) return request
  const followed: unknown[] = []
  for (const uri of new Set(uris)) {
    if (followed.length === followedMax) break
    // The SDK refuses a value that is not a string.
    if (typeof uri !== 'string' || await refusalOf(uri, call, gateway) === undefined) followed.push(uri)
  }
  return { ...request, params: { ...params, notifications: { ...wanted, resourceSubscriptions: followed } } }
}

/**
 * Why a client may not subscribe to an address. A skill that does not exist yet is allowed, so that the answer does not
 * reveal whether a skill exists; other addresses never change.
 */
async function refusalOf (uri: string, call: Call, gateway: Gateway): Promise<string | undefined> {
  const name = /^skill:\/\/([^/]*)/.exec(uri)?.[1]
  if (name === undefined) return undefined
  try {
    await gateway.invoke(getSkill, { name }, call)
    return undefined
  } catch (error) {
    const { code, message } = SkilletError.from(error)
    return code === 'SKILL_NOT_FOUND' ? undefined : message
  }
}
