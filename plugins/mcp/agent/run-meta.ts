import { Type, type Static } from 'typebox'
import { compileCheck, RunOptions, SkilletError } from '../../../kernel/index.ts'

/** How a client wants a tool to be run: fields of the `_meta` of a call, which agents neither see nor set. */
export type RunMeta = Static<typeof RunMeta>
const RunMeta = Type.Object({
  idempotency_key: RunOptions.properties.idempotency_key,
  asynchronous: RunOptions.properties.asynchronous,
  wait: RunOptions.properties.wait,
  priority: RunOptions.properties.priority,
  queue_ms: RunOptions.properties.queue_ms
})

/** What stands before the names of these fields in `_meta`. */
const prefix = 'skillet/'

let check: ReturnType<typeof compileCheck> | undefined

/** Reads the fields in the `_meta` of a call. @throws SkilletError INVALID_PARAMETERS */
export function runMetaIn (meta: object | undefined): RunMeta {
  const found = Object.entries(meta ?? {}).flatMap(([name, value]: [string, unknown]) => {
    const field = name.slice(prefix.length)
    return name.startsWith(prefix) && Object.hasOwn(RunMeta.properties, field) ? [[field, value] as const] : []
  })
  const fields: Record<string, unknown> = Object.fromEntries(found)
  if (found.length === 0) return {}
  check ??= compileCheck(RunMeta, '_meta')
  const fault = check(fields)
  if (fault !== undefined) throw new SkilletError('INVALID_PARAMETERS', fault)
  return fields // the check guarantees the type
}
