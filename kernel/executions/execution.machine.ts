import { setup } from 'xstate'

/**
 * The events of an execution:
 * `begin` the tool starts · `succeed` / `fail` the tool ended · `expire` the time limit passed, of the run or of the
 * wait in the queue ·
 * `ask` a person has to approve it · `approve` it was approved before its tool began, `resume` while it ran · `deny` it
 * was not approved · `cancel` a caller asked to cancel it · `interrupt` the process died, or could not wait for the
 * end.
 */
export type ExecutionEvent = {
  type: 'begin' | 'ask' | 'approve' | 'resume' | 'deny' | 'succeed' | 'fail' | 'expire' | 'cancel' | 'interrupt'
}

/**
 * The life cycle of an execution. It has only states and events, and no guards, actions, delays or invocations, so that
 * it compiles to a table (transitions.ts). A queued execution can fail when its executor can't accept it. No time limit
 * ends an execution that waits for an approval: its request expires, which denies it.
 */
export const executionMachine = setup({
  types: { events: {} as ExecutionEvent }
}).createMachine({
  id: 'execution',
  initial: 'queued',
  states: {
    queued: {
      on: {
        begin: 'running', ask: 'waiting', fail: 'failed', expire: 'timeout', cancel: 'cancelled',
        interrupt: 'interrupted'
      }
    },
    waiting: {
      on: {
        approve: 'queued', resume: 'running', deny: 'cancelled', fail: 'failed', cancel: 'cancelled',
        interrupt: 'interrupted'
      }
    },
    running: {
      on: {
        succeed: 'success', ask: 'waiting', fail: 'failed', expire: 'timeout', cancel: 'cancelled',
        interrupt: 'interrupted'
      }
    },
    success: { type: 'final' },
    failed: { type: 'final' },
    timeout: { type: 'final' },
    cancelled: { type: 'final' },
    interrupted: { type: 'final' }
  }
})
