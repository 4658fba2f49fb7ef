import type { Gateway, Logger } from '../../../kernel/index.ts'
import type { RequestGuard } from '../access/request-guard.ts'
import type { Close } from '../engine/server.ts'
import { eventsPath, executionEvents } from '../live/execution-events.ts'
import type { OpenStreams } from '../live/open-streams.ts'
import { streamPath, streamTarget } from '../live/stream-target.ts'
import { executionOutput, outputPath } from '../output/execution-output.ts'
import type { Replies } from './replies.ts'
import type { RequestContext } from './request-context.ts'
import type { Router } from './router.ts'
import type { Target } from './target.ts'

/** What the routes need. */
interface Dependencies { gateway: Gateway, guard: RequestGuard, log: Logger, streams: OpenStreams }

/**
 * Adds the routes of executions that are no operations, since their answers are no JSON: events and outputs.
 * @param afterReply what happens to the connection after a reply
 */
export function addExecutionRoutes (
  router: Router<Target>, options: Dependencies, replies: Replies, afterReply: (context: RequestContext) => Close
): void {
  router.add('GET', streamPath, streamTarget(options))
  router.add('GET', eventsPath, executionEvents(options, replies, afterReply))
  router.add('GET', outputPath, executionOutput(options.gateway, replies, afterReply))
}
