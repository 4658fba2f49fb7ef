import { setup } from 'xstate'

/**
 * What can happen to an execution:
 * `begin` it starts to run · `succeed` / `fail` its tool ended · `expire` its time limit passed ·
 * `cancel` somebody asked for its end · `interrupt` its process died or could not wait for it.
 */
export type ExecutionEvent = { type: 'begin' | 'succeed' | 'fail' | 'expire' | 'cancel' | 'interrupt' }

/**
 * The life of an execution, as states and events only: no guards, actions, delays or invocations, so that it
 * compiles to a table (transitions.ts). A queued execution can fail when its executor can't take it.
 */
export const executionMachine = setup({
  types: { events: {} as ExecutionEvent }
}).createMachine({
  id: 'execution',
  initial: 'queued',
  states: {
    queued: { on: { begin: 'running', fail: 'failed', cancel: 'cancelled', interrupt: 'interrupted' } },
    running: { on: { succeed: 'success', fail: 'failed', expire: 'timeout', cancel: 'cancelled', interrupt: 'interrupted' } },
    success: { type: 'final' },
    failed: { type: 'final' },
    timeout: { type: 'final' },
    cancelled: { type: 'final' },
    interrupted: { type: 'final' }
  }
})
