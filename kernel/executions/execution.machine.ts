import { setup } from 'xstate'

/**
 * The events of an execution:
 * `begin` the tool starts · `succeed` / `fail` the tool ended · `expire` the time limit passed ·
 * `cancel` a caller asked to cancel it · `interrupt` the process died, or could not wait for the end.
 */
export type ExecutionEvent = { type: 'begin' | 'succeed' | 'fail' | 'expire' | 'cancel' | 'interrupt' }

/**
 * The life cycle of an execution. It has only states and events, and no guards, actions, delays or invocations, so that
 * it compiles to a table (transitions.ts). A queued execution can fail when its executor can't accept it.
 */
export const executionMachine = setup({
  types: { events: {} as ExecutionEvent }
}).createMachine({
  id: 'execution',
  initial: 'queued',
  states: {
    queued: { on: { begin: 'running', fail: 'failed', cancel: 'cancelled', interrupt: 'interrupted' } },
    running: {
      on: { succeed: 'success', fail: 'failed', expire: 'timeout', cancel: 'cancelled', interrupt: 'interrupted' }
    },
    success: { type: 'final' },
    failed: { type: 'final' },
    timeout: { type: 'final' },
    cancelled: { type: 'final' },
    interrupted: { type: 'final' }
  }
})
