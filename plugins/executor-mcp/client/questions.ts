import { isObject, Unanswered, type JsonObject, type Question } from '../../../kernel/index.ts'

/** Asks the caller of a tool. @throws Unanswered when there is no answer */
export type Ask = (question: Question, signal: AbortSignal) => Promise<JsonObject>

/** What servers may ask: the methods, and the capabilities that a client declares for them. */
export const askingMethods = ['elicitation/create', 'sampling/createMessage', 'roots/list'] as const
export const askingCapabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** A request of a server as a question. @throws Unanswered when the request can't be understood */
export function questionOf (method: unknown, params: unknown): Question {
  const given = isObject(params) ? params : {}
  const { mode = 'form', message, requestedSchema, url } = given
  switch (method) {
    case 'elicitation/create':
      if (typeof message !== 'string') break
      if (mode === 'url' && typeof url === 'string') return { kind: 'link', message, url }
      if (mode === 'form' && isObject(requestedSchema)) return { kind: 'form', message, schema: requestedSchema }
      break
    case 'sampling/createMessage': {
      const { _meta, ...request } = given
      return { kind: 'model', request }
    }
    case 'roots/list': return { kind: 'roots' }
  }
  throw new Unanswered(`a question that is not of MCP: ${String(method)}`)
}

/**
 * Answers the questions of a result with `resultType: "input_required"`. A question to the user that nobody answers is
 * cancelled, and a server that asks for folders gets none.
 * @throws Unanswered when a model can't be asked
 */
export async function answersTo (inputRequests: unknown, ask: Ask, signal: AbortSignal): Promise<JsonObject> {
  const answers: JsonObject = {}
  for (const [name, request] of Object.entries(isObject(inputRequests) ? inputRequests : {})) {
    const { method, params } = isObject(request) ? request : {}
    const question = questionOf(method, params)
    answers[name] = await ask(question, signal).catch((error: unknown) => {
      if (!(error instanceof Unanswered) || question.kind === 'model') throw error
      return question.kind === 'roots' ? { roots: [] } : { action: 'cancel' }
    })
  }
  return answers
}
