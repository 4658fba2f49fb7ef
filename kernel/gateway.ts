import type { Static, TObject } from 'typebox'
import type { Bus } from './bus.ts'
import type { Executor, Storage } from './contracts.ts'
import { SkilletError } from './errors.ts'
import { Gate } from './gate.ts'
import { isObject } from './json.ts'
import { thisProcess } from './owner.ts'
import type { Call, Callable, Operation, Services } from './operation.ts'
import { operations } from './operations/index.ts'
import { compileCheck, type Check } from './validation.ts'
import type { Version } from './version.ts'
import { within } from './within.ts'

/** How long a probe may take, and how long its answer holds, in milliseconds. */
const probe_ms = { timeout: 2_000, cached: 1_000 }

/** What transports see of the kernel: the operations, and one way to call them. */
export interface Gateway {
  readonly operations: readonly Operation[]
  readonly version: Version
  readonly bus: Bus
  /**
   * Validates the input, checks the rights of the call, and runs the operation, or what it is to agents, whose input is put right first. Takes the input over: defaults are filled into it.
   * @throws SkilletError, always
   */
  invoke<I extends TObject, O extends TObject> (operation: Callable<I, O>, input: unknown, call: Call): Promise<Static<O>>
  /**
   * As `invoke`, but answers at once where the operation has nothing to wait for.
   * @throws now or by rejecting, and what the handler throws is not made a SkilletError: whoever calls it does that where all
   * that fails meets
   */
  answer<I extends TObject, O extends TObject> (operation: Callable<I, O>, input: unknown, call: Call): Static<O> | Promise<Static<O>>
  /** Whether the storage commits, by a real write, and all executors answer: one probe at a time, and at most one a second, however often it is asked. */
  ready (): Promise<boolean>
}

export function createGateway (services: Services & { storage: Pick<Storage, 'claim'> }, executors: readonly Pick<Executor, 'probe'>[], bus: Bus): Gateway {
  const gate = new Gate(services)
  const checks = new Map<TObject, Check>()
  const checkOf = (schema: TObject): Check => {
    let check = checks.get(schema)
    if (check === undefined) checks.set(schema, check = compileCheck(schema, '', { checked: true }))
    return check
  }
  const ready = cached(async () => {
    // A role that nobody holds for long: whoever asks takes it over.
    const written = services.storage.claim('probe', { owner: thisProcess(), note: '' }, () => false)
    // A probe that throws at once must not leave the others' rejections to nobody.
    const answers = executors.map(async executor => { await executor.probe?.() })
    if (!await within(probe_ms.timeout, Promise.all([written, ...answers]))) throw new Error(`no answer within ${probe_ms.timeout} ms`)
  })
  const answer: Gateway['answer'] = (operation, input, call) => {
    const allowed = gate.enter(operation, call.access)
    const given = operation.correct !== undefined && isObject(input) ? operation.correct(allowed, input) : input
    const wrong = checkOf(operation.input)(given)
    if (wrong !== undefined) throw new SkilletError('INVALID_PARAMETERS', wrong)
    return operation.handler(allowed, given as Parameters<typeof operation.handler>[1], call) // the check above is what makes it so
  }
  return {
    operations,
    answer,
    ready,
    version: services.version,
    bus,
    async invoke (operation, input, call) {
      try {
        return await answer(operation, input, call)
      } catch (error) {
        throw SkilletError.from(error)
      }
    }
  }
}

/** Whether a probe succeeds; asked anew when the last answer is old, and by one at a time. */
function cached (probe: () => Promise<void>): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined
  return () => answer ??= probe().then(() => true, () => false).finally(() => {
    setTimeout(() => { answer = undefined }, probe_ms.cached).unref()
  })
}
