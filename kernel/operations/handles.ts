import { Type } from 'typebox'
import type { Call } from '../contracts/call.ts'
import { textOf } from '../contracts/outputs.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import type { Job, Services } from '../contracts/services.ts'
import { SkilletError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import { compileCheck } from '../schema/validation.ts'
import { jobOf, type RunRequest } from './jobs.ts'
import { requireScope } from './scopes.ts'

/** How many parameters of a call can be handles. */
export const handlesMax = 16

/** The field by which a handle is known. */
const mark = '$from'
/** `{"$literal": {"$from": …}}` is the object `{"$from": …}`, and no handle. */
const escape = '$literal'

/** The address of an output; over MCP, links to outputs have the second form. */
const address = /^(?:execution:\/\/|skillet:\/\/executions\/)([^/]{1,256})\/output$/

/** A parameter that stands for the output of an execution. */
const Handle = Type.Object({
  [mark]: Type.String({ maxLength: 512 }),
  select: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 }))
}, { additionalProperties: false })
const checkHandle = compileCheck(Handle, 'the handle', { checked: true })

/** What handles need of the services of a call, and the call. */
type ForHandles = Pick<Services, 'catalog' | 'config' | 'outputs'>
type Caller = Pick<Call, 'transport' | 'access' | 'questions'>

/**
 * Makes the job of a request and passes it on, after its handles were replaced by what they stand for. Without handles
 * there is no wait. @throws SkilletError when the request is refused, or `use` throws it
 */
export function withJob<T> (
  services: ForHandles, request: RunRequest, call: Caller, use: (job: Job) => Promise<T>
): Promise<T> {
  return hasHandles(request.parameters)
    ? useWithHandles(services, request, call, use)
    : use(jobOf(services, request, call))
}

async function useWithHandles<T> (
  services: ForHandles, request: RunRequest, call: Caller, use: (job: Job) => Promise<T>
): Promise<T> {
  requireScope(call.access, 'read', `a handle (${mark})`)
  services.catalog.tool(request.skill_name, request.tool_name) // its error comes before those of handles
  const { values, release } = await valuesOf(request.parameters, services)
  try {
    const job = jobOf(services, { ...request, parameters: { ...request.parameters, ...values } }, call)
    return await use({ ...job, handles: { given: givenOf(job.parameters, request.parameters, values), release } })
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Replaces the handles in the parameters of a record, whose caller was allowed to use them.
 * @returns the parameters, and a function that ends the memory that they are counted with
 */
export async function resolved (
  parameters: JsonObject, services: Pick<Services, 'config' | 'outputs'>
): Promise<{ parameters: JsonObject, release: () => void }> {
  const { values, release } = await valuesOf(parameters, services)
  return { parameters: { ...parameters, ...values }, release }
}

/** The parameters with default values, and with the handles instead of what they stand for. */
function givenOf (valid: JsonObject, given: JsonObject, values: JsonObject): JsonObject {
  return { ...valid, ...Object.fromEntries(Object.keys(values).map(name => [name, given[name]])) }
}

/** Whether a parameter is a handle, or an escaped object. It is called for every execution. */
export function hasHandles (parameters: JsonObject): boolean {
  for (const name in parameters) {
    const value = parameters[name]
    if (typeof value === 'object' && value !== null && isSpecial(value)) return true
  }
  return false
}

function isSpecial (value: object): boolean {
  if (mark in value) return true
  if (!(escape in value) || Object.keys(value).length > 1) return false
  const literal = value[escape]
  return isObject(literal) && (mark in literal || escape in literal)
}

/** The values of all parameters that are handles or escaped. An output is data: a handle in it is not replaced. */
async function valuesOf (
  parameters: JsonObject, { config, outputs }: Pick<Services, 'config' | 'outputs'>
): Promise<{ values: JsonObject, release: () => void }> {
  const special = Object.entries(parameters).filter(([, value]) => isObject(value) && isSpecial(value))
  const handles = special.filter(([, value]) => isObject(value) && mark in value)
  if (handles.length > handlesMax) {
    throw invalid(`parameters has ${handles.length} handles; a call may have ${handlesMax}`)
  }
  const room = new Room(config.execution.handle_bytes_max, outputs)
  try {
    const values: [string, unknown][] = []
    for (const [name, value] of special) values.push([name, await valueOf(`parameters/${name}`, value, outputs, room)])
    return { values: Object.fromEntries(values), release: () => { room.release() } }
  } catch (error) {
    room.release()
    throw error
  }
}

async function valueOf (
  where: string, value: unknown, outputs: Services['outputs'], room: Room
): Promise<unknown> {
  if (isObject(value) && !(mark in value)) return value[escape]
  const fault = checkHandle(value)
  const { [mark]: from, select } = value as { [mark]: string, select?: string } // checked by the line above
  const [, id] = fault === undefined ? address.exec(from) ?? [] : []
  if (id === undefined) {
    const handle = `{"${mark}": "execution://ID/output"}, perhaps with "select": a JMESPath expression`
    throw invalid(`${where} is no handle${fault === undefined ? '' : ` (${fault})`}; write ${handle}. To pass on an object with "${mark}", write {"${escape}": {"${mark}": …}}`)
  }
  const output = await outputs.open(id)
  const free = room.take(where, output.bytes)
  const text = await textOf(output)
  if (select === undefined) return text
  const { value: selected, bytes } = await outputs.select(text, select).catch((error: unknown) => {
    const { code, message } = SkilletError.from(error)
    throw new SkilletError(code, `${where}/select: ${message}`, { execution_id: id })
  })
  if (selected === null) throw invalid(`${where}/select gives nothing from the output of ${id}`)
  free()
  room.take(where, bytes)
  return selected
}

/** The memory that the handles of a call take. */
class Room {
  readonly #bytes_max: number
  readonly #outputs: Services['outputs']
  readonly #frees = new Set<() => void>()
  #bytes = 0

  constructor (bytes_max: number, outputs: Services['outputs']) {
    this.#bytes_max = bytes_max
    this.#outputs = outputs
  }

  /**
   * Takes the room for an output, or for what was selected from it.
   * @returns gives it back
   * @throws SkilletError INVALID_PARAMETERS or OVERLOADED when there is not so much
   */
  take (where: string, bytes: number): () => void {
    if (this.#bytes + bytes > this.#bytes_max) {
      const limit = `the handles of a call may take ${this.#bytes_max} bytes, as execution.handle_bytes_max says`
      throw invalid(`${where}: the output has ${bytes} bytes, and ${limit}`)
    }
    const release = this.#outputs.hold(bytes)
    this.#bytes += bytes
    const free = (): void => {
      if (!this.#frees.delete(free)) return
      this.#bytes -= bytes
      release()
    }
    this.#frees.add(free)
    return free
  }

  release (): void {
    for (const free of this.#frees) free()
  }
}

function invalid (message: string): SkilletError {
  return new SkilletError('INVALID_PARAMETERS', message)
}
