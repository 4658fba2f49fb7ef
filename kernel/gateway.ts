import type { Static, TObject } from 'typebox'
import type { Bus } from './bus.ts'
import { SkilletError } from './errors.ts'
import { Gate } from './gate.ts'
import type { Call, Operation, Services } from './operation.ts'
import { operations } from './operations/index.ts'
import { compileCheck, type Check } from './validation.ts'
import type { Version } from './version.ts'

/** What transports see of the kernel: the operations, and one way to call them. */
export interface Gateway {
  readonly operations: readonly Operation[]
  readonly version: Version
  readonly bus: Bus
  /**
   * Validates the input, checks the rights of the call, and runs the operation. Takes the input over: defaults are filled into it.
   * @throws SkilletError, always
   */
  invoke<I extends TObject, O extends TObject> (operation: Operation<I, O>, input: unknown, call: Call): Promise<Static<O>>
}

export function createGateway (services: Services, bus: Bus): Gateway {
  const gate = new Gate(services)
  const checks = new Map<TObject, Check>()
  const checkOf = (schema: TObject): Check => {
    let check = checks.get(schema)
    if (check === undefined) checks.set(schema, check = compileCheck(schema, '', { checked: true }))
    return check
  }
  return {
    operations,
    version: services.version,
    bus,
    async invoke<I extends TObject, O extends TObject> (operation: Operation<I, O>, input: unknown, call: Call): Promise<Static<O>> {
      const allowed = gate.enter(operation, call.access)
      const wrong = checkOf(operation.input)(input)
      if (wrong !== undefined) throw new SkilletError('INVALID_PARAMETERS', wrong)
      try {
        return await operation.handler(allowed, input as Static<I>, call) // the check above is what makes it so
      } catch (error) {
        throw SkilletError.from(error)
      }
    }
  }
}
