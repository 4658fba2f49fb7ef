import { randomUUID } from 'node:crypto'
import { isObject, type JsonObject } from '../../kernel/index.ts'
import type { Target, TargetBody, TargetField } from '../toolkit/openapi/target.ts'
import type { ReadFile } from './read-file.ts'
import { queryOf, textOf } from './serialize.ts'

export interface Body { type: string, bytes: Buffer }

/**
 * Makes the body of a request.
 * @param readFile reads a file that the call names
 * @returns undefined for none
 * @throws Error naming the parameter that can't be sent
 */
export async function buildBody (
  { body }: Target, parameters: JsonObject, readFile: ReadFile
): Promise<Body | undefined> {
  if (body === undefined) return undefined
  if (body.input !== undefined) return await whole(body, body.input, parameters, readFile)
  const given = body.fields.flatMap(field =>
    Object.hasOwn(parameters, field.input) ? [{ field, value: parameters[field.input] }] : [])
  if (given.length === 0 && !body.required) return undefined
  switch (body.kind) {
    case 'form': return {
      type: body.type,
      bytes: Buffer.from(queryOf(given.map(({ field, value }) => ({ value, how: field }))).replaceAll('%20', '+'))
    }
    case 'multipart': return await multipart(given, readFile)
    case 'json': case 'text': case 'file':
      return json(body.type, Object.fromEntries(given.map(({ field, value }) => [field.name, value])))
    default: return body.kind satisfies never
  }
}

function json (type: string, value: unknown): Body {
  return { type: type.includes('*') ? 'application/json' : type, bytes: Buffer.from(JSON.stringify(value)) }
}

async function whole (
  { type, kind }: TargetBody, input: string, parameters: JsonObject, readFile: ReadFile
): Promise<Body | undefined> {
  if (!Object.hasOwn(parameters, input)) return undefined
  const value = parameters[input]
  switch (kind) {
    case 'text': return { type: `${type.split(';', 1)[0] ?? ''}; charset=utf-8`, bytes: Buffer.from(textOf(value)) }
    case 'file': {
      const { bytes, type: own } = await readFile(value, input)
      return { type: own ?? (type.includes('*') ? 'application/octet-stream' : type), bytes }
    }
    case 'form': case 'multipart': {
      const fields = Object.entries(isObject(value) ? value : {})
        .map(([name, inner]) => ({ field: { input, name, style: 'form', explode: true } as const, value: inner }))
      if (kind === 'multipart') return await multipart(fields, readFile)
      return { type, bytes: Buffer.from(queryOf(fields.map(({ field, value }) => ({ value, how: field })))) }
    }
    case 'json': return json(type, value)
    default: return kind satisfies never
  }
}

async function multipart (
  given: readonly { field: TargetField, value: unknown }[], readFile: ReadFile
): Promise<Body> {
  const boundary = `skillet-${randomUUID()}`
  const chunks: Buffer[] = []
  const add = (name: string, bytes: Buffer, type?: string, file?: string): void => {
    const head = [
      `--${boundary}`,
      `content-disposition: form-data; name="${quoted(name)}"${file === undefined ? '' : `; filename="${quoted(file)}"`}`,
      ...(type === undefined ? [] : [`content-type: ${type}`]), '', ''
    ]
    chunks.push(Buffer.from(head.join('\r\n')), bytes, Buffer.from('\r\n'))
  }
  for (const { field, value } of given) {
    const list = Array.isArray(value) && (field.explode || field.file === true) ? value as unknown[] : [value]
    for (const item of list) {
      if (field.file === true) {
        const { bytes, name, type } = await readFile(item, field.input)
        add(field.name, bytes, type ?? 'application/octet-stream', name)
      } else if (field.json === true || typeof item === 'object') {
        add(field.name, Buffer.from(JSON.stringify(item)), 'application/json')
      } else add(field.name, Buffer.from(textOf(item)))
    }
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`))
  return { type: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(chunks) }
}

/** As browsers write names: a quote or a line break would end them. */
function quoted (text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
