import { assign, setup } from 'xstate'

/** The events of a supervised plugin. `degrade` and `recover` come from the plugin itself. */
export type PluginEvent =
  | { type: 'started' | 'recover' | 'stop' | 'stopped' }
  | { type: 'degrade' | 'fail', reason: string }
  | { type: 'warn', warning: string }

/**
 * The life cycle of a plugin under its supervisor (supervisor.ts). The context holds the reason of a bad state, and
 * what can't be promised.
 */
export const pluginMachine = setup({
  types: { events: {} as PluginEvent, context: {} as { reason: string | undefined, warning: string | undefined } },
  actions: {
    remember: assign({ reason: ({ event }) => 'reason' in event ? event.reason : undefined }),
    keepWarning: assign({ warning: ({ event }) => 'warning' in event ? event.warning : undefined })
  }
}).createMachine({
  id: 'plugin',
  context: { reason: undefined, warning: undefined },
  on: { warn: { actions: 'keepWarning' } },
  initial: 'starting',
  states: {
    starting: { on: {
      started: 'ready',
      degrade: { target: 'degraded', actions: 'remember' },
      fail: { target: 'failed', actions: 'remember' },
      stop: 'stopping'
    } },
    ready: { on: { degrade: { target: 'degraded', actions: 'remember' }, stop: 'stopping' } },
    degraded: { on: {
      recover: { target: 'ready', actions: 'remember' },
      degrade: { target: 'degraded', actions: 'remember' },
      stop: 'stopping'
    } },
    stopping: { on: { stopped: 'stopped', fail: { target: 'failed', actions: 'remember' } } },
    stopped: { type: 'final' },
    failed: { on: { stop: 'stopping' } }
  }
})
