import type { TObject } from 'typebox'
import type { Bus } from '../contracts/bus.ts'
import type { Executor } from '../contracts/executor.ts'
import type { Gateway } from '../contracts/gateway.ts'
import type { Services } from '../contracts/services.ts'
import type { Storage } from '../contracts/storage.ts'
import { SkilletError } from '../lib/errors.ts'
import { isObject } from '../lib/json.ts'
import { thisProcess } from '../lib/process-identity.ts'
import { within } from '../lib/within.ts'
import { compileCheck, type Check } from '../schema/validation.ts'
import { Authorizer } from './authorizer.ts'
import { operations } from './table.ts'

/** Time limit of a probe, and how long its result is cached, in milliseconds. */
const probe_ms = { timeout: 2_000, cached: 1_000 }

export function createGateway (
  services: Services & { storage: Pick<Storage, 'claim'> },
  executors: readonly Pick<Executor, 'probe'>[],
  bus: Bus
): Gateway {
  const authorizer = new Authorizer(services)
  const checks = new Map<TObject, Check>()
  const checkOf = (schema: TObject): Check => {
    let check = checks.get(schema)
    if (check === undefined) checks.set(schema, check = compileCheck(schema, '', { checked: true }))
    return check
  }
  const ready = cached(async () => { await probe(services.storage, executors) })
  const answer: Gateway['answer'] = (operation, input, call) => {
    const allowed = authorizer.enter(operation, call.access)
    const corrected = operation.correct !== undefined && isObject(input) ? operation.correct(allowed, input) : input
    const fault = checkOf(operation.input)(corrected)
    if (fault !== undefined) throw new SkilletError('INVALID_PARAMETERS', fault)
    // The check above guarantees this type.
    return operation.handler(allowed, corrected as Parameters<typeof operation.handler>[1], call)
  }
  return {
    operations,
    answer,
    ready,
    version: services.version,
    bus,
    live: ({ access }) => authorizer.enter({ effect: 'read', name: 'reading events' }, access).live,
    outputs: ({ access }) => authorizer.enter({ effect: 'read', name: 'reading outputs' }, access).outputs,
    async invoke (operation, input, call) {
      try {
        return await answer(operation, input, call)
      } catch (error) {
        throw SkilletError.from(error)
      }
    }
  }
}

/**
 * Makes a test write and asks the executors whether they work.
 * @throws Error when one of them fails, or does not answer in time
 */
async function probe (
  storage: Pick<Storage, 'claim'>,
  executors: readonly Pick<Executor, 'probe'>[]
): Promise<void> {
  // The claim of the role `probe` is the test write. It always succeeds, because `isAlive` returns false here.
  const written = storage.claim('probe', { owner: thisProcess(), note: '' }, () => false)
  // The async function turns a synchronous exception of a probe into a rejection. Otherwise the exception would end
  // this function, and rejections of the other probes would not be handled.
  const answers = executors.map(async executor => { await executor.probe?.() })
  if (!await within(probe_ms.timeout, Promise.all([written, ...answers]))) {
    throw new Error(`no answer within ${probe_ms.timeout} ms`)
  }
}

/** Whether a probe succeeds. The result is cached for `probe_ms.cached`, and one probe runs at a time. */
function cached (probe: () => Promise<void>): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined
  return () => answer ??= probe().then(() => true, () => false).finally(() => {
    setTimeout(() => { answer = undefined }, probe_ms.cached).unref()
  })
}
