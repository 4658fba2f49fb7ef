import { isSpecType, type Server, type ServerContext } from '@modelcontextprotocol/server'
import { isObject, Unanswered, type JsonObject, type Question, type QuestionHandler } from '../../../kernel/index.ts'

/** A question as a request of MCP. */
export interface ClientRequest { method: string, params?: JsonObject }

/** A time that is not reached: the kernel limits the time until an answer. In milliseconds. */
const never_ms = 2_147_483_647

/** The kinds of questions that a client can answer, by its capabilities. */
export function answeredBy ({ elicitation, sampling, roots }: JsonObject): Set<Question['kind']> {
  const kinds = new Set<Question['kind']>()
  if (isObject(elicitation)) {
    if (elicitation['form'] !== undefined || elicitation['url'] === undefined) kinds.add('form')
    if (elicitation['url'] !== undefined) kinds.add('link')
  }
  if (isObject(sampling)) kinds.add('model')
  if (isObject(roots)) kinds.add('roots')
  return kinds
}

/** The request of a question. @throws Unanswered when the question is none that a client would understand */
export function requestOf (question: Question): ClientRequest {
  const request = requestOfKind(question)
  if (
    !isSpecType.ElicitRequest(request) && !isSpecType.CreateMessageRequest(request)
    && !isSpecType.ListRootsRequest(request)
  ) throw new Unanswered('the question is not of a form that clients take')
  return request as ClientRequest
}

function requestOfKind (question: Question): ClientRequest {
  switch (question.kind) {
    case 'form': {
      const { message, schema } = question
      return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } }
    }
    case 'link': {
      const { message, url } = question
      return { method: 'elicitation/create', params: {
        mode: 'url', message, url, elicitationId: crypto.randomUUID()
      } }
    }
    case 'model': return { method: 'sampling/createMessage', params: question.request }
    case 'roots': return { method: 'roots/list' }
  }
}

/** Asks a client of 2025 and before, which takes requests while its own request runs. */
export function liveQuestions (server: Server, { mcpReq }: ServerContext): QuestionHandler | undefined {
  const answers = answeredBy({ ...server.getClientCapabilities() })
  if (answers.size === 0) return undefined
  return {
    answers,
    async ask (question, signal) {
      const { method, params } = requestOf(question)
      const options = { signal, timeout: never_ms }
      return await mcpReq.send({ method: method as 'elicitation/create', ...(params !== undefined && { params }) },
        options)
    }
  }
}
