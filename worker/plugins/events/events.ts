/** `events()`: lists events, and delivers them by webhook. */
import {
  type EventLimits,
  type EventsHost,
  keepsLog,
  type Termination,
} from '../../../durable-objects/events/events-host.ts'
import { Events } from '../../../durable-objects/events/object.ts'
import type {
  EventIndexRpc,
  EventOwnerRpc,
  EventReceiverRpc,
  StoredRecipients,
} from '../../../durable-objects/events/rpc.ts'
import { readSecret } from '../../../durable-objects/events/signature.ts'
import { reportWork } from '../../background-work.ts'
import { checkOptions, type KindsOf } from '../../declarations/check-options.ts'
import { type Duration, milliseconds } from '../../declarations/duration.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { storedFor } from '../../declarations/stored-principal.ts'
import { discover } from '../../engine/methods/discover.ts'
import { type Method, type MethodContext, readObject, readText } from '../../engine/methods/method.ts'
import { reauthorize, sealPrincipal } from '../../engine/sealed-principal.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { McpError } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { isLoopback } from '../../protocol/loopback.ts'
import { clientKey, ownerKey, type Principal, readOwnerKey } from '../../protocol/principal.ts'
import type { Params, Result } from '../../protocol/types.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { problemOfUrl } from './callback-url.ts'
import { type DeclaredEvent, declaredEvent, type Event } from './event.ts'
import { inspected } from './inspect.ts'
import { poll, stream } from './read-log.ts'
import {
  codes,
  type DeclaredEvents,
  EventError,
  isPermitted,
  readArguments,
  readEvent,
  readReplay,
  type Served,
  scopesOf,
} from './read-request.ts'

/** Types the Durable Object class that a Worker exports as `McpEvents`. */
export interface EventsClass {
  new (ctx: DurableObjectState, env: Cloudflare.Env): Events
}

/** Configures `events()`. */
export type EventsOptions = {
  /** Duration of a subscription whose client suggests none. Default: `1d`. */
  ttl?: Duration
  /** The longest duration of a subscription, which its client extends by subscribing again. Default: `7d`. */
  maxTtl?: Duration
  /** Subscriptions of one user. Default: 100. */
  maxSubscriptions?: number
  /** Deliveries of one user that wait for receivers. The oldest ones beyond it become dead letters, and are reported. Default: 10,000. */
  maxWaiting?: number
  /** Duration after which an attempt counts as failed, at most 30 seconds. Default: `10s`. */
  timeout?: Duration
  /**
   * What clients can read of each event after it was published, by poll and on streams: events of the last `maxAge`, and the last
   * `maxEvents`, which is at most 100,000. `false`: nothing, so that events are delivered by webhook only. Default: an hour, and 1,000 events.
   */
  log?: { maxAge?: Duration; maxEvents?: number } | false
}

/** Events of a log, at most. A page reads all of them if none is for its reader: 10 ms, for which other requests of the object wait. */
const mostLogEvents = 100_000

const logKinds: KindsOf<Exclude<EventsOptions['log'], false | undefined>> = {
  maxAge: kind.positiveDuration,
  maxEvents: [
    (value) => kind.count[0](value) && Number(value) <= mostLogEvents,
    `a whole number from 1 to ${mostLogEvents}`,
  ],
}

const kinds: KindsOf<EventsOptions> = {
  ttl: kind.positiveDuration,
  maxTtl: kind.positiveDuration,
  maxSubscriptions: kind.count,
  maxWaiting: kind.count,
  timeout: kind.positiveDuration,
  log: [(value) => value === false || isObject(value), "{ maxAge: '1h', maxEvents: 1000 } or false", logKinds],
}

const streamMethod = 'events/stream'
const capability = { events: {} }
const extensionName = 'io.modelcontextprotocol/events'
/** The longest subscription without `reauthorize`, in milliseconds: nothing is known of its caller until it is refreshed. */
const unverifiedMs = 60 * 60_000
const maxTimeoutMs = 30_000
/** The shortest subscription, in milliseconds. */
const minTtlMs = 60_000
/** Verifications of a user that may fail in an hour. */
const failedVerifications = 20
/** Verifications of all users at one host in a minute: a server must not be made to attack it. */
const verificationsOfHost = 300
/** Streams of an event, and those of one caller. */
const [streams, streamsEach] = [10_000, 100]
/** The shortest log, in milliseconds: positions in it are as exact as clocks. */
const minLogMs = 60_000

/**
 * Creates a plugin with which clients list events and subscribe to them by webhook, in every protocol version. A subscriber is an
 * authenticated caller: `serve()` needs an `auth`.
 *
 * @param list the events, as `event()` returns them
 * @throws Error for an invalid option, and for two events with one name
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 *
 * @example
 * const saved = event('note.saved', { payloadSchema: z.object({ id: z.string() }) })
 * const worker = serve(server, { auth, plugins: [events([saved])] })
 * export default worker
 * export const { McpEvents } = worker
 */
export function events(
  // biome-ignore lint/suspicious/noExplicitAny: events with payloads of any type
  list: readonly Event<any>[],
  options: EventsOptions = {},
): Plugin<{ readonly McpEvents: EventsClass }> {
  checkOptions('events()', options, kinds)
  if (!Array.isArray(list) || list.length === 0)
    throw new Error('events() takes a list of events: events([event(…), …])')
  const all = new Map<string, DeclaredEvent>()
  for (const one of list.map(declaredEvent)) {
    if (all.has(one.name)) throw new Error(`Two events have the name "${one.name}": rename one`)
    all.set(one.name, one)
  }
  const { ttl = '1d', maxTtl = '7d', maxSubscriptions = 100, maxWaiting = 10_000, timeout = '10s', log = {} } = options
  const timeoutMs = milliseconds(timeout, 'timeout of events()')
  if (timeoutMs > maxTimeoutMs) throw new Error('"timeout" of events() must be at most 30 s')
  const { maxAge = '1h', maxEvents: logEvents = 1000 } = log || { maxAge: 0 }
  const logMs = milliseconds(maxAge, 'log.maxAge of events()')
  if (log && logMs < minLogMs) throw new Error('"log.maxAge" of events() must be at least 1 minute')
  const limits: EventLimits = {
    subscriptions: maxSubscriptions,
    waiting: maxWaiting,
    timeoutMs,
    failedVerifications,
    verificationsOfHost,
    logMs,
    logEvents,
    streams,
    streamsEach,
  }
  const terms: Terms = {
    ttlMs: milliseconds(ttl, 'ttl of events()'),
    maxTtlMs: milliseconds(maxTtl, 'maxTtl of events()'),
  }
  return {
    name: 'events',
    extensions: { [extensionName]: {} },
    // Clients read the capability here, and not among the extensions.
    capabilities: () => capability,
    methods: (runtime) => {
      const served: Served = { all, limits, runtime }
      const scopes: Method['scopes'] = async (params) => scopesOf(all, params)
      return {
        'server/discover': (inner = discover) => withCapability(inner),
        'events/list': () => method((context) => listEvents(context, served)),
        'events/subscribe': () => method((context) => subscribe(context, served, terms), scopes),
        'events/unsubscribe': () => method((context) => unsubscribe(context, runtime)),
        'events/poll': () => method((context) => poll(context, served), scopes),
        // Clients of stateless versions get the stream instead.
        [streamMethod]: () =>
          method(() => Promise.reject(new McpError('method_not_found', `Method not found: ${streamMethod}`)), scopes),
      }
    },
    provide: (runtime) => ({ streams: { [streamMethod]: stream({ all, limits, runtime }) } }),
    objects: {
      McpEvents: (runtime) => {
        const plain = hostOf(all, limits, runtime)
        const host = globalThis.process?.env?.NODE_ENV === 'development' ? inspected(all.keys(), plain) : plain
        for (const [name, declared] of all) {
          declared.connect(runtime.identity, {
            async publish(publication, recipients, uri) {
              await host.index(name).publish(publication, recipients)
              if (uri !== undefined) await notifyOf(runtime.server, uri, recipients).catch(runtime.report)
            },
            owners: async (recipients) => (await host.index(name).owners(recipients)).map(host.owner),
          })
        }
        return class McpEvents extends Events {
          constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
            super(ctx, env, host)
          }
        }
      },
    },
  }
}

/** Notifies clients that have subscribed to a resource that it has changed. */
async function notifyOf({ notify }: Runtime['server'], uri: string, recipients: StoredRecipients): Promise<void> {
  if ('everyone' in recipients) return notify.resourceUpdated(uri)
  const { issuer, tenant } = recipients
  if (!('subject' in recipients)) return notify.resourceUpdated(uri, recipients)
  return notify.resourceUpdated(uri, { user: { issuer, subject: recipients.subject, tenant } })
}

type Terms = { readonly ttlMs: number; readonly maxTtlMs: number }

const method = (answer: Method['answer'], scopes: NonNullable<Method['scopes']> = async () => []): Method => ({
  offered: () => true,
  scopes,
  answer,
})

function withCapability(inner: Method): Method {
  return {
    ...inner,
    async answer(context) {
      const result = await inner.answer(context)
      const { capabilities } = result
      return isObject(capabilities) ? { ...result, capabilities: { ...capabilities, ...capability } } : result
    },
  }
}

async function listEvents(
  { call: { principal, revision, params } }: MethodContext,
  { all, limits, runtime: { report } }: Served,
): Promise<Result> {
  const { cursor } = params
  if (cursor !== undefined && cursor !== null)
    throw new McpError('invalid_params', 'The list has one page: send no cursor')
  const isKept = keepsLog(limits)
  // An anonymous caller cannot subscribe by webhook.
  const delivery = [principal ? 'webhook' : [], isKept ? 'poll' : [], isKept && revision.stateless ? 'push' : []].flat()
  if (delivery.length === 0) return { events: [] }
  const seen = await Promise.all(
    [...all.values()].map(async (one) => ((await isPermitted(one, principal).catch(report)) ? one : [])),
  )
  return {
    events: seen.flat().map(({ name, description, input, payload }) => ({
      name,
      description,
      delivery,
      inputSchema: input?.jsonSchema ?? noArguments,
      payloadSchema: payload.jsonSchema,
    })),
  }
}

const noArguments = { type: 'object', properties: {}, additionalProperties: false }

/** Reads the members that identify a subscription. @throws McpError */
async function identityOf({ call }: MethodContext, { identity }: Pick<Runtime, 'identity'>) {
  const { params, principal } = call
  if (!principal) throw new EventError('forbidden', 'Only an authenticated caller can subscribe: send an access token')
  const name = readText(params, 'name')
  const args = readArguments(params)
  const delivery = readObject(params, 'delivery')
  const url = readText(delivery, 'url', 'params.delivery')
  const who = [clientKey(principal, identity), url, name, args]
  const id = `sub_${encodeBase64url(await sha256(JSON.stringify(who)))}`
  return { id, principal, name, args, url, delivery, owner: `owner ${ownerKey(principal, identity)}` }
}

async function subscribe(context: MethodContext, { all, limits, runtime }: Served, terms: Terms): Promise<Result> {
  const { mode } = readObject(context.call.params, 'delivery')
  if (context.call.principal && mode !== 'webhook')
    throw new EventError('unsupported', 'delivery.mode must be "webhook"', { feature: 'deliveryMode', value: mode })
  const { id, principal, name, args, url, delivery, owner } = await identityOf(context, runtime)
  await readEvent(all, context.call.params, principal)
  const { secret } = delivery
  if (!readSecret(secret))
    throw new McpError('invalid_params', 'delivery.secret must be "whsec_" and 24 to 64 bytes in base64')
  const problem = problemOfUrl(url, globalThis.process?.env?.NODE_ENV === 'development' && isLocal(context.call))
  if (problem !== undefined) throw new McpError('invalid_params', `delivery.url is not accepted: ${problem}`)
  const auth = await runtime.auth()
  const isReauthorized = storedFor(principal, auth ?? {}).reauthorize !== undefined
  const lifetimeMs = Math.min(
    lifetimeOf(context.call.params, terms),
    isReauthorized ? terms.maxTtlMs : credentialMs(principal),
  )
  const refreshBefore = Date.now() + lifetimeMs
  const { issuer, tenant, subject } = principal
  const outcome = await runtime.object<EventOwnerRpc>('McpEvents', owner).subscribe({
    id,
    name,
    args,
    url,
    secret: String(secret),
    principal: await sealPrincipal(principalPurpose, principal, auth, runtime.seals(undefined), lifetimeMs + keptMs),
    owner: { issuer, tenant, subject },
    client: principal.client,
    tenant: runtime.tenant,
    refreshBefore,
    after: readReplay(context.call.params).after,
  })
  if (outcome.kind === 'unverified')
    throw new EventError('callback', 'The callback URL did not answer the verification', { reason: outcome.reason })
  if (outcome.kind === 'exhausted') {
    const { limit, max } = outcome
    throw new EventError('exhausted', `The limit of ${max} is reached: ${limit}`, { limit, max })
  }
  const { status, position, isTruncated } = outcome
  return {
    id,
    refreshBefore: new Date(refreshBefore).toISOString(),
    cursor: keepsLog(limits) ? String(position) : null,
    truncated: isTruncated,
    ...(status && { deliveryStatus: status }),
  }
}

/**
 * Whether a request names this machine. Cloudflare finds a deployed Worker by the host of a URL, so it gets none, also if it was built for
 * development.
 */
const isLocal = ({ request }: MethodContext['call']): boolean =>
  request !== undefined && isLoopback(new URL(request.url).hostname)

async function unsubscribe(context: MethodContext, runtime: Runtime): Promise<Result> {
  const { id, owner } = await identityOf(context, runtime)
  if (await runtime.object<EventOwnerRpc>('McpEvents', owner).unsubscribe(id)) return {}
  throw new EventError('not_found', 'Unknown subscription', { kind: 'subscription' })
}

/** Returns milliseconds: what the client suggests, within the limits. `null`, for no expiry, gets the longest lifetime. */
function lifetimeOf({ ttlMs }: Params, { ttlMs: usual, maxTtlMs }: Terms): number {
  if (ttlMs === undefined) return Math.min(usual, maxTtlMs)
  if (ttlMs === null) return maxTtlMs
  if (typeof ttlMs !== 'number' || !(ttlMs >= 0))
    throw new McpError('invalid_params', 'ttlMs must be a number of 0 or more, or null')
  return Math.min(Math.max(ttlMs, minTtlMs), maxTtlMs)
}

/** Returns the milliseconds for which a principal counts without being verified again: as long as its token, and an hour at most. */
function credentialMs({ claims: { exp } }: Principal): number {
  return typeof exp === 'number' ? Math.min(Math.max(exp * 1000 - Date.now(), 0), unverifiedMs) : unverifiedMs
}

const principalPurpose = 'principal of a subscription'
const secretPurpose = 'secret of a subscription'

/** Milliseconds for which a principal can be read after its subscription has ended. */
const keptMs = 60_000

/** @param reason for the log: the receiver learns nothing of it */
const forbidden = (reason: string): Termination => ({
  reason,
  error: { code: codes.forbidden, message: 'The subscriber may not receive this event any more' },
})

function hostOf(all: DeclaredEvents, limits: EventLimits, runtime: Runtime): EventsHost {
  const { object, report, at } = runtime
  const seals = runtime.seals(undefined)
  return {
    index: (event) => object<EventIndexRpc>('McpEvents', `event ${event}`),
    owner: (name) => object<EventOwnerRpc>('McpEvents', name),
    receiver: (host) => object<EventReceiverRpc>('McpEvents', `receiver ${host}`),
    matches: (event, args, body) => all.get(event)?.matches(args, body) ?? false,
    async terminationOf({ name, principal: sealed, tenant }) {
      const declared = all.get(name)
      if (!declared)
        return {
          reason: `this server has no event "${name}"`,
          error: { code: codes.not_found, message: `Unknown event: ${name}`, data: { kind: 'event' } },
        }
      const endpoint = at(tenant ?? undefined)
      const auth = await authOf(endpoint)
      if (!auth) return forbidden('its tenant does not exist any more')
      const call = { method: 'events/subscribe', params: { name } }
      const reauthorized = await reauthorize(
        { purpose: principalPurpose, sealed, call },
        auth,
        endpoint.seals(undefined),
      )
      if ('reason' in reauthorized) return forbidden(reauthorized.reason)
      if (await isPermitted(declared, reauthorized.principal)) return undefined
      return forbidden(
        'its user lacks a scope of the event, or visibleTo does not return true. Claims are kept if storedClaims names them',
      )
    },
    seal: (secret, lifetimeMs) => seals.seal(secretPurpose, secret, lifetimeMs),
    async open(sealed) {
      const secret = await seals.open(secretPurpose, sealed)
      return typeof secret === 'string' ? secret : undefined
    },
    limits,
    observe: ({ owner, ...work }) =>
      reportWork(runtime, () => {
        const isDecided = work.method === 'events/deliver' && work.error?.kind !== 'internal'
        return {
          ...work,
          milliseconds: Date.now() - work.since,
          principal: owner === undefined ? undefined : readOwnerKey(owner.slice('owner '.length)),
          scopes: isDecided ? (all.get(work.name)?.scopes ?? []) : [],
        }
      }),
    report,
  }
}

/** Returns the auth of an endpoint; `undefined` without one, and for a tenant that does not exist any more. */
async function authOf(endpoint: Runtime) {
  try {
    return await endpoint.auth()
  } catch (problem) {
    if (problem instanceof McpError && problem.kind === 'forbidden') return undefined
    throw problem
  }
}
