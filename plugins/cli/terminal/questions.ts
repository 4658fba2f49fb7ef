import {
  coerceText, isObject, Unanswered, type JsonObject, type Question, type QuestionHandler
} from '../../../kernel/index.ts'
import { steady } from './layout.ts'
import type { Terminal } from './terminal.ts'

/** How often the user may be asked for one value. */
const attemptsMax = 3

/**
 * Answers the questions of a tool by asking at the terminal.
 * @param pause stops what else is shown there, until the returned function is called
 */
export function terminalQuestions (
  terminal: Pick<Terminal, 'ask' | 'err'>, pause: () => () => void
): QuestionHandler {
  return {
    answers: new Set(['form', 'link']),
    async ask (question, signal) {
      const resume = pause()
      try {
        return await answerTo(question, async text => {
          const line = await terminal.ask(text, signal)
          if (line === undefined) throw new Unanswered('nobody can be asked: standard input is no terminal')
          return line.trim()
        }, text => { terminal.err(text) })
      } finally {
        resume()
      }
    }
  }
}

type AskLine = (text: string) => Promise<string>

async function answerTo (question: Question, ask: AskLine, say: (text: string) => void): Promise<JsonObject> {
  switch (question.kind) {
    case 'form': {
      say(`The tool asks: ${steady(question.message)}\n`)
      if (!isYes(await ask('Answer it? [y/N] '))) return { action: 'decline' }
      const content = await fillIn(question.schema, ask)
      return content === undefined ? { action: 'cancel' } : { action: 'accept', content }
    }
    case 'link':
      say(`The tool asks: ${steady(question.message)}\nIt wants you to open ${steady(question.url)}\n`)
      return { action: isYes(await ask('Did you open it? [y/N] ')) ? 'accept' : 'decline' }
    default: throw new Unanswered('this can\'t be asked at a terminal')
  }
}

/** The values of a form; undefined when a required one is missing. */
async function fillIn (schema: JsonObject, ask: AskLine): Promise<JsonObject | undefined> {
  const { properties, required } = schema
  const content: JsonObject = {}
  for (const [name, given] of Object.entries(isObject(properties) ? properties : {})) {
    const field = isObject(given) ? given : {}
    const isRequired = Array.isArray(required) && required.includes(name)
    const value = await valueOf(name, field, isRequired, ask)
    if (value !== undefined) content[name] = value
    else if (isRequired) return undefined
  }
  return content
}

async function valueOf (name: string, field: JsonObject, required: boolean, ask: AskLine): Promise<unknown> {
  const choices = choicesOf(field)
  const hints = [
    ...(typeof field['description'] === 'string' ? [field['description']] : []),
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}`]),
    ...(field['default'] === undefined ? [] : [`default ${JSON.stringify(field['default'])}`])
  ]
  const prompt = `${steady([name, ...hints].join('; '))}: `
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const line = await ask(prompt)
    if (line === '') {
      if (field['default'] !== undefined || !required) return field['default']
      continue
    }
    if (field['type'] === 'boolean' && /^(y|yes|n|no)$/i.test(line)) return isYes(line)
    const value = coerceText(field, line)
    if (isOfType(value, field['type']) && choices?.includes(line) !== false) return value
  }
  return undefined
}

function choicesOf ({ enum: values, oneOf }: JsonObject): string[] | undefined {
  const choices = Array.isArray(values)
    ? values as unknown[]
    : Array.isArray(oneOf) ? oneOf.map((choice: unknown) => isObject(choice) ? choice['const'] : undefined) : undefined
  return choices?.filter(choice => typeof choice === 'string')
}

function isOfType (value: unknown, type: unknown): boolean {
  switch (type) {
    case 'integer': return Number.isSafeInteger(value)
    case 'number': case 'boolean': case 'string': return typeof value === type
    case 'array': return Array.isArray(value)
    default: return true
  }
}

function isYes (line: string): boolean {
  return /^y(es)?$/i.test(line.trim())
}
