import { ProtocolError, ProtocolErrorCode, type McpServer } from '@modelcontextprotocol/server'
import { getSkill, isObject, SkilletError, type Call, type Gateway, type JsonObject } from '../../../kernel/index.ts'
import { callOf } from './call.ts'

/** Addresses that one client may follow. */
const followedMax = 1_000

/** Where the instructions of a skill are read. */
export function instructionsUri (name: string): string {
  return `skill://${name}/SKILL.md`
}

/** What clients of 2025 follow, each on its connection; those of 2026 have streams that the SDK keeps. */
export class Subscriptions {
  readonly #followed = new Set<string>()

  constructor ({ server }: McpServer, gateway: Gateway) {
    server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, ctx) => {
      const refusal = await refusalOf(uri, callOf(ctx), gateway)
      if (refusal !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, refusal)
      if (this.#followed.size >= followedMax && !this.#followed.has(uri)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `A client may follow ${followedMax} resources`)
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
 * A request for a stream of changes without the addresses that its caller may not follow, nor more than one may: what
 * is left is told back to it.
 */
export async function withinRights (request: JsonObject, call: Call, gateway: Gateway): Promise<JsonObject> {
  const { params } = request
  const wanted = isObject(params) ? params['notifications'] : undefined
  const uris = isObject(wanted) ? wanted['resourceSubscriptions'] : undefined
  if (!isObject(params) || !isObject(wanted) || !Array.isArray(uris)) return request
  const followed: unknown[] = []
  for (const uri of new Set(uris)) {
    if (followed.length === followedMax) break
    // What is no text is for the SDK to refuse.
    if (typeof uri !== 'string' || await refusalOf(uri, call, gateway) === undefined) followed.push(uri)
  }
  return { ...request, params: { ...params, notifications: { ...wanted, resourceSubscriptions: followed } } }
}

/**
 * Why an address may not be followed. A skill that is not there yet may, so that the answer tells nothing of it; other
 * addresses never change.
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
