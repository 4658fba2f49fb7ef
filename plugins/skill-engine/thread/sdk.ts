import { castArguments, type KitParameter } from './kit-arguments.ts'

export { createAuthenticatedClient, httpRequest } from './kit-http.ts'

/** The stand-in for the kit of the engine: what skills import from `@skill-engine/sdk`. */
interface KitTool {
  name: string
  description: string
  parameters?: KitParameter[]
  handler: (args: Record<string, unknown>) => unknown
}
type Config = { key: string, value: string, secret?: boolean }[]
interface Kit {
  metadata: Record<string, unknown>
  tools: KitTool[]
  validateConfig?: (config: Record<string, string>) => unknown
}
type Result = { ok: unknown } | { err: string }

/** Makes the default export of a skill. */
export function defineSkill ({ metadata, tools, validateConfig }: Kit) {
  return {
    getMetadata: () => metadata,
    getTools: () => tools.map(({ handler: _handler, ...tool }) => ({ parameters: [], ...tool })),
    executeTool: async (name: string, pairs: [string, string][]): Promise<Result> => {
      const tool = tools.find(tool => tool.name === name)
      if (tool === undefined) return { err: `Unknown tool: ${name}` }
      const cast = castArguments(tool.parameters ?? [], pairs)
      if ('err' in cast) return cast
      try {
        return shaped(await tool.handler(cast.args))
      } catch (error) {
        return { err: error instanceof Error ? error.message : messageOf(error) }
      }
    },
    validateConfig: async (config: Config = []): Promise<Result> => {
      const values = Object.fromEntries(config.map(({ key, value }) => [key, value]))
      const verdict = await validateConfig?.(values)
      return isTable(verdict) && ('err' in verdict || 'ok' in verdict) ? verdict as Result : { ok: null }
    }
  }
}

/** What a handler returned, as `{ ok }` or `{ err }`. */
function shaped (value: unknown): Result {
  if (isTable(value) && ('ok' in value || 'err' in value)) return value as Result
  if (isTable(value) && 'success' in value) return { ok: value }
  const output = typeof value === 'string' ? value : JSON.stringify(value) ?? ''
  return { ok: { success: true, output, errorMessage: null } }
}

/** A success, with data that programs may read. */
export function ok (output: unknown, data?: unknown): object {
  return { success: true, output, ...(data !== undefined && { data }), errorMessage: null }
}

/** A failure. */
export function err (message: string, error?: unknown): object {
  return { success: false, output: '', errorMessage: message, ...(error !== undefined && { error }) }
}

interface KitError { code: string, message: string, retryable: boolean }
const make = (code: string, retryable: boolean) => (message: unknown = code): KitError =>
  ({ code, message: String(message), retryable })

const named: Record<string, (message?: unknown) => KitError> = {
  validation: make('VALIDATION_ERROR', false), notFound: make('NOT_FOUND', false), auth: make('AUTH_ERROR', false),
  unauthorized: make('UNAUTHORIZED', false), config: make('CONFIG_ERROR', false), timeout: make('TIMEOUT', true),
  network: make('NETWORK_ERROR', true), rateLimit: make('RATE_LIMIT', true), internal: make('INTERNAL_ERROR', false)
}

/** Errors by their kind, whatever it is called. */
export const errors: Record<string, (message?: unknown) => KitError> = new Proxy(named, {
  get: (known, kind) => Reflect.get(known, kind) as unknown ?? make(String(kind).toUpperCase(), false)
})

/** All settings, without `SKILL_` before their keys; or the one of this key. */
export function getConfig (key?: string): Record<string, string> | string | undefined {
  if (key !== undefined) return process.env[key.startsWith('SKILL_') ? key : `SKILL_${key.toUpperCase()}`]
  const settings = Object.entries(process.env).flatMap(([name, value]) =>
    name.startsWith('SKILL_') && value !== undefined ? [[name.slice('SKILL_'.length), value]] : [])
  return Object.fromEntries(settings) as Record<string, string>
}

function isTable (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function messageOf (error: unknown): string {
  return isTable(error) && typeof error['message'] === 'string' ? error['message'] : String(error)
}
