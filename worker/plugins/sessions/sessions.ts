/** `sessions()`: serves clients of protocol versions before 2026-07-28 with sessions, which Durable Objects store. */

import { addedParts } from '../../../durable-objects/session/added-parts.ts'
import { Session } from '../../../durable-objects/session/object.ts'
import type { SessionHost, SessionSettings } from '../../../durable-objects/session/session-host.ts'
import { defaultLogBounds, type ReplayLimits } from '../../../durable-objects/shared/event-log.ts'
import type { SubscriptionsRpc } from '../../../durable-objects/subscriptions/rpc.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { type Duration, millisecondsOrInfinity } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StateRpc } from '../../declarations/state.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { shardName } from '../../protocol/changes.ts'
import { sessionLifeMs } from './sealed-session.ts'
import { transport } from './transport.ts'

/** Configures `sessions()`. */
export type SessionOptions = {
  /** Duration without a request after which a session deletes what it stored. Default: 1 day. */
  ttl?: Duration
  /** Limits of the stored events, which clients replay after a disconnect. Default: the default of each limit. */
  log?: Partial<ReplayLimits>
  /**
   * Whether a session goes on with its next request after `ttl`, without its subscriptions, log level, open calls and state. `false`: a
   * session that has lost one of these responds with status 404, and its client has to send `initialize` again. Default: true.
   */
  revive?: boolean
}

// An interface, so that declaration files of Workers that export the class can name it.
/** Types the Durable Object class that a Worker exports as `McpSession`. */
export interface SessionClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): Session
}

const kinds: KindsOf<SessionOptions> = {
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
}

/**
 * Creates a plugin that serves clients of protocol versions before 2026-07-28 with sessions: input requests, streams that continue after a
 * disconnect, subscriptions, log levels, and HTTP+SSE. Without it, these clients have tools, resources and prompts.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 *
 * @example
 * const worker = serve(server, { plugins: [sessions()] })
 * export default worker
 * export const { McpSession } = worker
 */
export function sessions(options: SessionOptions = {}): Plugin<{ readonly McpSession: SessionClass }> {
  checkOptions('sessions()', options, kinds)
  const { ttl = '1d', log, revive = true } = options
  const settings = { ttl: millisecondsOrInfinity(ttl, 'sessions().ttl'), log: { ...defaultLogBounds, ...log }, revive }
  return {
    name: 'sessions',
    provide: () => ({ transport }),
    objects: { McpSession: (runtime) => classOf(runtime, settings) },
  }
}

const partsOf = ({ provided }: Runtime) => addedParts(provided.flatMap(({ sessionPart }) => sessionPart ?? []))

function classOf(runtime: Runtime, settings: Omit<SessionSettings, 'streamAfterMs' | 'keepAliveMs'>): SessionClass {
  const { server, limits, report } = runtime
  const host: SessionHost = {
    server,
    life: sessionLifeMs,
    options: { ...settings, streamAfterMs: limits.streamAfterMs, keepAliveMs: limits.keepAliveMs },
    at: runtime.at,
    state: (name) => runtime.object<StateRpc>('McpState', name),
    subscriptionsAt: (shard) => runtime.object<SubscriptionsRpc>('McpSubscriptions', shardName(shard)),
    countRoundOf(tenant) {
      const limiter = runtime.at(tenant).provided.find((provided) => provided.limiter)?.limiter
      return limiter?.countRound?.bind(limiter)
    },
    report,
  }
  return class McpSession extends Session {
    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env, host, partsOf(runtime))
    }
  }
}
