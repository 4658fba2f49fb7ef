import { collectedBytesMax, definePlugin, type Plugin } from '../../kernel/index.ts'
import { InlineExecutor, type InlineTool } from './executor.ts'

export type { InlineTool } from './executor.ts'

/** What an inline executor runs, and how. */
export interface InlineOptions {
  /** The runtime it serves; default `inline`. */
  runtime?: string
  /** The functions, by `skill:tool`. */
  tools: Readonly<Record<string, InlineTool>>
  /** Runs at once; default 64. */
  concurrency?: number
}

/**
 * The reference executor, for tests: it runs functions on the main thread, without isolation. A function can't be
 * stopped: one that is cancelled or out of time is told by its signal and no longer waited for.
 */
export function inlineExecutor ({ runtime = 'inline', tools, concurrency = 64 }: InlineOptions): Plugin<'executor'> {
  return definePlugin({
    name: 'executor-inline',
    slot: 'executor',
    setup ({ config, scope }) {
      const executor =
        new InlineExecutor({ runtime, tools, concurrency, outputBytesMax: collectedBytesMax(config) })
      scope.defer(() => { executor.close() })
      return executor
    }
  })
}
