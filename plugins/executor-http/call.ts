import type { JsonObject, SkillDefinition } from '../../kernel/index.ts'
import { Allowed } from '../toolkit/net/addresses.ts'
import type { Reply } from '../toolkit/net/request.ts'
import type { Target } from '../toolkit/openapi/target.ts'
import { buildBody } from './build-body.ts'
import { buildHead, type Head } from './build-request.ts'
import type { Credentials } from './credentials.ts'
import { exchange, type Sending } from './exchange.ts'
import { nextPage } from './next-page.ts'
import { fileReader } from './read-file.ts'
import { jsonOf, jsonText, reasonOf, textOfReply } from './shape.ts'

export interface Call {
  skill: SkillDefinition
  target: Target
  parameters: JsonObject
  secrets: Readonly<Record<string, string>>
  private_paths: readonly string[]
}

/** What a call gave: the text for the caller, and why it failed, if it did. */
export interface Answer { text: string, failure?: { message: string, status: number } }

/** Sends the request of a call, and further ones for its further pages. @throws Error when it can't be sent */
export async function perform (
  call: Call, credentials: Credentials, sending: Omit<Sending, 'allowed'>
): Promise<Answer> {
  const { target, parameters, secrets } = call
  const how: Sending = { ...sending, allowed: allowedOf(target) }
  const head = buildHead(target, parameters)
  const body = await buildBody(target, parameters, fileReader(call.skill, call.private_paths))
  const ask = async ({ url, headers }: Head): Promise<Reply> => {
    const withSecrets = (): Promise<Head> => credentials.add({ url, headers }, target, secrets, how.signal)
    const reply = await exchange(target.method, await withSecrets(), body, how)
    if (reply.status !== 401 || !target.auth.some(({ kind }) => kind === 'oauth2')) return reply
    // A token may end before its time. The request was refused, so it may be sent again.
    credentials.forget(target, secrets)
    return await exchange(target.method, await withSecrets(), body, how)
  }
  const reply = await ask(head)
  if (reply.status >= 400) return failed(reply)
  if (reply.status >= 300) return { text: textOfReply(reply) }
  const pages = target.pages === undefined ? 1 : Number(parameters[target.pages.input] ?? 1)
  return pages > 1 ? await furtherPages(head, reply, pages, target, ask) : { text: textOfReply(reply) }
}

/** What may be reached: public addresses, and the server itself where it was confirmed. */
export function allowedOf ({ server, private: confirmed }: Target): Allowed {
  const url = new URL(server)
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return new Allowed('[http] private in skill.toml', confirmed ? [`${url.hostname}:${port}`] : [])
}

function failed (reply: Reply): Answer {
  return { text: textOfReply(reply), failure: { message: reasonOf(reply), status: reply.status } }
}

/** Lists are joined; other pages are a list of what came. */
async function furtherPages (
  head: Head, first: Reply, pages_max: number, { pages }: Target, ask: (head: Head) => Promise<Reply>
): Promise<Answer> {
  const answers: unknown[] = []
  let [reply, url] = [first, head.url]
  for (;;) {
    const answer = jsonOf(reply)
    if (answer === undefined) {
      if (answers.length === 0) return { text: textOfReply(first) }
      break
    }
    answers.push(answer)
    const next = pages === undefined || answers.length >= pages_max ? undefined : nextPage(url, reply, answer, pages)
    if (next === undefined) break
    url = next
    reply = await ask({ url, headers: head.headers })
    if (reply.status >= 400) return { ...failed(reply), text: jsonText(joined(answers)) }
  }
  return { text: jsonText(joined(answers)) }
}

function joined (answers: readonly unknown[]): unknown {
  if (answers.length === 1) return answers[0]
  return answers.every(Array.isArray) ? answers.flat() : answers
}
