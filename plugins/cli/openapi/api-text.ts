import type { JsonObject, SkillDefinition } from '../../../kernel/index.ts'
import { isObject } from '../../../kernel/index.ts'
import { listAt, textAt } from '../../toolkit/openapi/values.ts'
import { usage } from '../options/target.ts'
import { align, paragraph } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The number of operations that are listed. */
const shownMax = 20

const kinds: Record<string, string> = {
  header: 'in the header', query: 'in the query as', cookie: 'in the cookie', bearer: 'as a bearer token',
  basic: 'as name and password', oauth2: 'for a token from'
}

/** What a skill of a web API may do, in plain words. */
export function apiText (
  skill: SkillDefinition, { colors: { out }, columns }: Pick<Terminal, 'colors' | 'columns'>
): string {
  const { name, description, permissions: { read = [] }, tools } = skill
  const targets = tools.map(({ target }) => target ?? {})
  const line = (text: string): string => paragraph([text], { columns })
  const rows = tools.slice(0, shownMax).map(tool =>
    [{ text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description])
  return [
    paragraph([{ text: name, style: out.bold }, ` — ${description}`], { columns }), ...hostsText(targets).map(line),
    line(methodsText(targets)), ...secretsText(targets).map(line),
    ...(read.length === 0 ? [] : [line(`It may send files from ${read.join(', ')}.`)]),
    align(rows, { columns, indent: '  ', widthMax: 40 }),
    tools.length > shownMax ? `  and ${tools.length - shownMax} more\n` : ''
  ].join('')
}

function hostsText (targets: readonly JsonObject[]): string[] {
  const hosts = new Map(targets.map(target => [new URL(textAt(target, 'server') ?? '').origin, target]))
  return [...hosts].flatMap(([origin, target]) => [
    `It sends requests to ${origin} and nowhere else.`,
    ...(target['private'] === true ? [`${origin} is on this machine or in a private network.`] : []),
    ...(origin.startsWith('http:') && target['private'] !== true
      ? ['What it sends is not encrypted: others can read and change it on its way.'] : [])
  ])
}

function methodsText (targets: readonly JsonObject[]): string {
  const counts = new Map<string, number>()
  for (const target of targets) {
    const method = textAt(target, 'method') ?? ''
    counts.set(method, (counts.get(method) ?? 0) + 1)
  }
  const sum = (...methods: string[]): number => methods.reduce((all, method) => all + (counts.get(method) ?? 0), 0)
  const reading = sum('GET', 'HEAD', 'OPTIONS', 'TRACE')
  const list = [...counts].map(([method, count]) => `${method} ${count}`).join(', ')
  return `${targets.length} operations (${list}): ${reading} read, ${targets.length - reading - sum('DELETE')} may change something there, ${sum('DELETE')} delete.`
}

function secretsText (targets: readonly JsonObject[]): string[] {
  const lines = new Map<string, number>()
  for (const target of targets) {
    for (const auth of listAt(target, 'auth').filter(isObject)) {
      const where = auth['token_url'] ?? auth['name'] ?? ''
      const text = `${listAt(auth, 'secrets').join(' and ')} ${kinds[String(auth['kind'])] ?? ''} ${String(where)}`.trim()
      lines.set(text, (lines.get(text) ?? 0) + 1)
    }
  }
  if (lines.size === 0) return ['It needs no secrets.']
  return [...lines].map(([text, count]) => `It sends the secret ${text}, with ${count} of the operations.`)
}
