/** Checks what `serve()` is given. */
import type { ReplayLimits } from '../durable-objects/shared/event-log.ts'
import { checkOptions, checkValue, isObject, type KindsOf } from './declarations/check-options.ts'
import * as kind from './declarations/option-kinds.ts'
import { policyKinds } from './http/check-origins-and-hosts.ts'
import { corsKinds } from './http/cors.ts'
import type { Limits } from './http/limits.ts'
import type { DurableObjectOptions, ServeOptions, SessionOptions } from './serve.ts'

const kinds: KindsOf<ServeOptions> = {
  path: kind.path,
  auth: kind.auth,
  plugins: kind.plugins,
  requestContext: kind.fn,
  sessions: [
    (value) => value === false || isObject(value),
    'false or an object',
    {
      ttl: kind.durationOrInfinity,
      log: kind.object({
        maxAgeMs: kind.amount,
        maxEvents: kind.atLeastOne,
        maxCharacters: kind.atLeastOne,
        maxResponses: kind.atLeastOne,
        maxResponseCharacters: kind.atLeastOne,
        maxStorageBytes: kind.atLeastOne,
      } satisfies KindsOf<ReplayLimits>),
      revive: kind.flag,
    } satisfies KindsOf<SessionOptions>,
  ],
  onError: kind.fn,
  handlerErrors: [
    (value) => value === 'message' || value === 'generic' || kind.fn[0](value),
    "'message', 'generic' or a function",
  ],
  limits: kind.object({
    maxJsonDepth: kind.count,
    maxJsonValues: kind.atLeastOne,
    maxBatchSize: kind.amount,
    maxBodyBytes: kind.atLeastOne,
    maxResultBytes: kind.atLeastOne,
    bodyTimeoutMs: kind.atLeastOne,
    streamAfterMs: kind.amount,
    keepAliveMs: kind.atLeastOne,
    maxBufferedBytes: kind.amount,
    maxStreamAgeMs: kind.atLeastOne,
  } satisfies KindsOf<Limits>),
  identity: kind.name,
  durableObjects: kind.object({
    jurisdiction: kind.string,
    locationHint: kind.string,
    names: [
      (value) => isObject(value) && Object.values(value).every((name) => typeof name === 'string' && name !== ''),
      "names of classes, such as { McpSession: 'OtherSession' }",
    ],
  } satisfies KindsOf<DurableObjectOptions>),
  ...policyKinds,
  cors: kind.object(corsKinds),
}

/** @throws Error that names the option, and what was expected; also for a path that HTTP+SSE has */
export function checkServe(server: unknown, options: ServeOptions): void {
  checkValue('serve()', 'server', server, kind.server)
  checkOptions('serve()', options, kinds)
  const { path = '', sessions } = options
  // Its clients could not connect.
  if (sessions !== false && /\/(sse|messages)$/.test(path)) {
    throw new Error(`The path "${path}" of serve() is one of HTTP+SSE: use another one, such as "/mcp"`)
  }
}
