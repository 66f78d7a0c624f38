/** Checks what `serve()` is given. */
import { checkOptions, checkValue, isObject, type KindsOf } from './declarations/check-options.ts'
import * as kind from './declarations/option-kinds.ts'
import { policyKinds } from './http/check-origins-and-hosts.ts'
import { corsKinds } from './http/cors.ts'
import type { Limits } from './http/limits.ts'
import type { DurableObjectOptions, ServeOptions } from './serve.ts'

const kinds: KindsOf<ServeOptions> = {
  path: kind.path,
  auth: kind.auth,
  plugins: kind.plugins,
  requestContext: kind.fn,
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

/** @throws Error that names the option, and what was expected */
export function checkServe(server: unknown, options: ServeOptions): void {
  checkValue('serve()', 'server', server, kind.server)
  checkOptions('serve()', options, kinds)
}
