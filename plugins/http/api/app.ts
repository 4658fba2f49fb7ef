import {
  health, messageOf, SkilletError, type Call, type Endpoint, type Gateway, type JsonObject, type Logger, type Operation
} from '../../../kernel/index.ts'
import { BodyCut, tooLarge, type Bodies } from '../engine/bodies.ts'
import { unchecked, type RequestGuard } from '../access/request-guard.ts'
import { serveEndpoint } from './endpoints.ts'
import { addExecutionRoutes } from './execution-routes.ts'
import { checkFraming, unframed, type Framing } from '../engine/framing.ts'
import type { OwnHosts } from '../access/hosts.ts'
import { checkMediaType, placementOf, readBody, readUrl } from './input.ts'
import { readPreferences } from './preferences.ts'
import type { Origins } from '../access/origins.ts'
import { checkHost, checkOrigin, preflightOf } from './origin-checks.ts'
import { Replies } from './replies.ts'
import { HttpCall, type RequestContext } from './request-context.ts'
import { Router, type Match } from './router.ts'
import { compileSerializer, type Serializer } from './serialize.ts'
import type { Target } from './target.ts'
import type { OpenStreams } from '../live/open-streams.ts'
import { ClientGone, headerOf, type Close, type Exchange } from '../engine/server.ts'

export interface AppOptions {
  bodies: Bodies
  /** Whether messages are logged that only help to find faults. */
  debug: boolean
  gateway: Gateway
  hosts: OwnHosts
  origins: Origins
  guard: RequestGuard
  log: Logger
  streams: OpenStreams
}

/** From request to reply: rate limits, host, origin, route, method, key, media type, size, body, operation. */
export class App {
  readonly router = new Router<Target>()
  readonly replies: Replies
  readonly #dependencies: AppOptions
  #quiescing = false

  constructor (options: AppOptions) {
    this.#dependencies = options
    this.replies = new Replies(options.gateway.version)
    for (const operation of options.gateway.operations) this.#addOperation(operation)
    this.#addProbes()
    addExecutionRoutes(this.router, options, this.replies, of => this.#afterReply(of.framing))
  }

  /** Serves another protocol beside the operations, behind the same checks. */
  addEndpoint (endpoint: Endpoint): void {
    for (const { method, path, access = 'key' } of endpoint.routes) {
      this.router.add(method, path, {
        writes: access === 'key', // a GET may open a stream of other callers' data, which no foreign page may read
        access,
        run: context => {
          const { exchange, framing } = context
          const asked = exchange.method
          if (asked !== method) throw new SkilletError('METHOD_NOT_ALLOWED', `${path} takes ${method}, not ${asked}`)
          this.#checkLength(framing)
          const serve = (body: Uint8Array | undefined): void => {
            serveEndpoint(
              endpoint, context, body, this.#dependencies.guard.meter(exchange), this.replies, this.#afterReply(framing)
            ).catch((error: unknown) => { this.#fail(context, error) })
          }
          if (method === 'POST') this.#read(context, serve)
          else serve(undefined)
        }
      })
    }
  }

  /** Refuses new requests from now on; requests that were already accepted are still answered. */
  quiesce (): void {
    this.#quiescing = true
  }

  /** Answers a request. Never throws. */
  readonly handle = (exchange: Exchange): void => {
    if (this.#dependencies.debug) {
      const { method, path, remote_address } = exchange
      this.#dependencies.log.debug({ method, path, remote_address }, 'request')
    }
    let context: RequestContext | undefined
    try {
      const framing = checkFraming(exchange)
      const match = this.router.find(exchange.path)
      const target = match?.route.targets.get(exchange.method)
      const admission = (target ?? match?.route.targets.get('GET'))?.access === 'probe'
        ? unchecked
        : this.#dependencies.guard.admit(exchange)
      context = { exchange, framing, cors: undefined, admission }
      const host = checkHost(exchange, framing, this.#dependencies.hosts)
      const cors = checkOrigin(context, host, target, this.#dependencies.origins)
      if (cors !== undefined) context = { exchange, framing, cors, admission }
      if (admission.refusal !== undefined) throw admission.refusal
      this.#dispatch(context, match, target)
    } catch (error) {
      context ??= { exchange, framing: unframed, cors: undefined, admission: unchecked }
      this.#fail(context, error, this.#afterRefusal(context.framing))
    }
  }

  #dispatch (context: RequestContext, match: Match<Target> | undefined, target: Target | undefined): void {
    const { exchange, framing } = context
    const { method, path } = exchange
    if (framing.upgrade && target?.isWebSocket !== true) {
      throw new SkilletError('INVALID_PARAMETERS', 'There is no WebSocket here')
    }
    if (match === undefined) {
      throw new SkilletError('NOT_FOUND', `There is nothing at ${path.length > 256 ? `${path.slice(0, 256)}…` : path}`)
    }
    const { route: { allow }, values } = match
    if (method === 'OPTIONS') return this.#options(context, allow)
    if (target === undefined) {
      return this.replies.error(
        context,
        new SkilletError('METHOD_NOT_ALLOWED', `${path} takes ${allow}`, { allow: allow.split(', ') }),
        ['Allow', allow],
        this.#afterRefusal(framing)
      )
    }
    if (this.#quiescing && target.access !== 'probe') {
      throw new SkilletError('OVERLOADED', 'The server is stopping and takes no new requests')
    }
    const { unauthorized } = context.admission
    if (target.access === 'key' && unauthorized !== undefined) throw unauthorized
    target.run(context, values)?.catch((error: unknown) => { this.#fail(context, error) })
  }

  #options (context: RequestContext, allow: string): void {
    const headers = ['Allow', allow, ...preflightOf(context, allow)]
    this.replies.empty(context, 204, headers, this.#afterRefusal(context.framing))
  }

  #addOperation (operation: Operation): void {
    const placement = placementOf(operation)
    const { method, path, body_fields } = placement
    const serialize = compileSerializer(operation.output, this.#dependencies.gateway.version)
    this.router.add(method, path, {
      writes: operation.effect === 'write',
      access: 'key',
      // All checks that do not need the body come first, while the engine still holds the body.
      run: (context, values) => {
        const { exchange, framing } = context
        const sendsBody = method === 'POST' && (body_fields.length > 0 || framing.length !== 0)
        if (sendsBody) {
          checkMediaType(headerOf(exchange.headers, 'content-type'), headerOf(exchange.headers, 'content-encoding'))
        }
        this.#checkLength(framing)
        const url = readUrl(placement, values, exchange.query)
        if (sendsBody) {
          this.#read(context, bytes => {
            this.#operate(operation, serialize, context, readBody(placement, bytes, url))
          })
        } else {
          this.#operate(operation, serialize, context, url)
        }
      }
    })
  }

  /** Not async, so that an operation without waiting is answered in the same turn; others cost one promise more. */
  #operate (operation: Operation, serialize: Serializer, context: RequestContext, input: JsonObject): void {
    if (operation.unfinished !== undefined) readPreferences(context.exchange.headers, input)
    const call = new HttpCall(context, input['idempotency_key'] !== undefined)
    const output = this.#dependencies.gateway.answer(operation, input, call)
    if (output instanceof Promise) {
      output.then(
        later => this.#reply(operation, context, serialize, later),
        (error: unknown) => this.#fail(context, error)
      )
    } else {
      this.#reply(operation, context, serialize, output)
    }
  }

  /** Never throws: no caller would catch the error. */
  #reply (operation: Operation, context: RequestContext, serialize: Serializer, output: JsonObject): void {
    try {
      const id = operation.unfinished?.(output)
      const close = this.#afterReply(context.framing)
      if (id === undefined) this.replies.json(context, serialize(output), close)
      else this.replies.accepted(context, serialize(output), id, close)
    } catch (error) {
      this.#fail(context, error)
    }
  }

  /** Reads the body of a request and passes it to `answer`. An error that `answer` throws becomes the reply. */
  #read (context: RequestContext, answer: (bytes: Uint8Array) => void): void {
    const fail = (error: unknown): void => { this.#fail(context, error) }
    context.exchange.body(this.#dependencies.bodies, bytes => {
      try {
        answer(bytes)
      } catch (error) {
        fail(error)
      }
    }, fail)
  }

  #checkLength ({ length }: Framing): void {
    const { bytesMax } = this.#dependencies.bodies.limits
    if (length !== undefined && length > bytesMax) throw tooLarge(bytesMax)
  }

  #addProbes (): void {
    const probe = (path: string, isWell: (call: Call) => Promise<boolean>): void => {
      this.router.add('GET', path, {
        writes: false,
        access: 'probe',
        run: async context => {
          const well = await isWell(new HttpCall(context))
          this.replies.text(context, well ? 200 : 503, well ? 'ok\n' : 'not ready\n', this.#afterReply(context.framing))
        }
      })
    }
    probe('/livez', async () => true)
    probe('/readyz', async call =>
      !this.#quiescing
      && (await this.#dependencies.gateway.invoke(health, {}, call)).status === 'healthy'
      && await this.#dependencies.gateway.ready())
  }

  #fail (context: RequestContext, thrown: unknown, close = this.#afterReply(context.framing)): void {
    if (thrown instanceof ClientGone) return
    const error = SkilletError.from(thrown)
    if (error.code === 'INTERNAL' && error.cause !== undefined) {
      logFault(this.#dependencies.log, context.exchange, error.cause)
    }
    this.replies.error(context, error, undefined, thrown instanceof BodyCut ? 'linger' : close)
  }

  /** After a refusal before the body is read: closes if the server stops or the body is too long or of unknown size. */
  #afterRefusal (framing: Framing): Close {
    const { length, refusal } = framing
    const isTooLong = length === undefined || length > this.#dependencies.bodies.limits.bytesMax
    return refusal === undefined && isTooLong ? 'linger' : this.#afterReply(framing)
  }

  #afterReply ({ last }: Framing): Close {
    return last ? 'now' : this.#quiescing ? 'linger' : 'keep'
  }
}

function logFault (log: Logger, { method, path }: Exchange, cause: unknown): void {
  const stack = cause instanceof Error ? cause.stack : undefined
  log.error({ method, path, error: messageOf(cause), stack }, 'a request met a fault')
}
