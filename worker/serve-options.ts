/** Checks of what `serve()` is given. A deployment's bundle has none of them, but for the names of the options: see `serve.ts`. */
import type { LogBounds } from '../durable-objects/event-log.ts'
import type { Limits } from './http/limits.ts'
import { checkPolicy, policyKinds } from './http/policy-checks.ts'
import { checkOptions, checkValue, type KindsOf } from './options/check.ts'
import * as kind from './options/kinds.ts'
import type { ServeOptions, SessionOptions } from './serve.ts'

const kinds: KindsOf<ServeOptions> = {
  path: [
    (value) => typeof value === 'string' && /^\/[\w\-./]*$/.test(value),
    'a path such as "/mcp", without patterns',
  ],
  auth: kind.auth,
  limit: kind.having('admit', 'what limits() of "edgemcp/limits" returns'),
  audit: kind.hooks,
  sessions: [
    (value) => value === false || (typeof value === 'object' && value !== null),
    'false or an object',
    {
      jurisdiction: kind.string,
      locationHint: kind.string,
      ttl: kind.amount,
      log: kind.object({
        age: kind.amount,
        count: kind.atLeastOne,
        bytes: kind.atLeastOne,
        responseCount: kind.atLeastOne,
        responseBytes: kind.atLeastOne,
        storageBytes: kind.atLeastOne,
      } satisfies KindsOf<LogBounds>),
    } satisfies KindsOf<SessionOptions>,
  ],
  page: kind.page,
  limits: kind.object({
    depth: kind.amount,
    batch: kind.amount,
    body: kind.amount,
    bodyTimeout: kind.amount,
    patience: kind.amount,
    keepAlive: kind.amount,
    backlog: kind.amount,
  } satisfies KindsOf<Limits>),
  updates: kind.having('attach', 'what updates() of "edgemcp/updates" returns'),
  identity: kind.name,
  objects: kind.object({ session: kind.name, updates: kind.name, state: kind.name }),
  ...policyKinds,
}

/** @throws Error that names the option, and what was expected */
export function checkServe(server: unknown, options: ServeOptions): void {
  checkValue('serve()', 'server', server, kind.server)
  checkOptions('serve()', options, kinds)
  checkPolicy(options)
}
