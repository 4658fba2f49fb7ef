import { Type } from 'typebox'
import type { Callable } from '../contracts/operation.ts'
import { ExecuteResult, Execution } from '../contracts/schemas.ts'
import { execute } from './execute.ts'
import { IdAsked } from './get-execution.ts'
import { withJob } from './handles.ts'
import { jobOfRecord } from './recorded-jobs.ts'
import { storeJob } from './run-options.ts'

const Result = Type.Object({ ...ExecuteResult.properties })
const Started = Type.Object({ id: IdAsked }, { additionalProperties: false })
const Record = Type.Object({ ...Execution.properties })

/** Stores an asynchronous run, and does not start it: for a process that ends before the run does. */
export const storeRun: Callable<typeof execute.input, typeof Result> = {
  name: 'store_run',
  effect: 'write',
  description: 'Stores an asynchronous run for another process, which starts it with start_run.',
  input: execute.input,
  output: Result,
  handler: (services, input, call) => withJob(services, input, call, async job => {
    try {
      return await storeJob(services, job, input)
    } finally {
      job.handles?.release() // another process runs it
    }
  })
}

/** Starts an asynchronous run that waits in the storage, and waits for its end. */
export const startRun: Callable<typeof Started, typeof Record> = {
  name: 'start_run',
  effect: 'write',
  description: 'Starts an asynchronous run that another process stored.',
  input: Started,
  output: Record,
  handler: (services, { id }) => services.executions.start(id, execution => jobOfRecord(services, execution))
}
