/**
 * `events/poll` and `events/stream`: read the log of an event.
 *
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 */
import { streamHeader } from '../../../durable-objects/events/event-streams.ts'
import { keepsLog } from '../../../durable-objects/events/events-host.ts'
import type { EventIndexRpc, Reader, StreamMessage, StreamRequest } from '../../../durable-objects/events/rpc.ts'
import type { MethodContext } from '../../engine/methods/method.ts'
import { insufficientScope } from '../../engine/required-scopes.ts'
import { requireStream } from '../../http/accept.ts'
import { openRelay } from '../../http/relay.ts'
import type { OpenStream } from '../../http/transport.ts'
import { encodeBase64 } from '../../protocol/base64.ts'
import { McpError, tooManyRequests } from '../../protocol/errors.ts'
import { networkOf } from '../../protocol/ip-address.ts'
import { resultText } from '../../protocol/jsonrpc.ts'
import { subscriptionIdKey } from '../../protocol/meta.ts'
import { holdsScopes, ownerKey, type Principal } from '../../protocol/principal.ts'
import { eventFrame } from '../../protocol/server-sent-events.ts'
import type { Params, Result } from '../../protocol/types.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { EventError, readEvent, readReplay, type Served, scopesOf } from './read-request.ts'
import { takePlace } from './stream-places.ts'

/** Milliseconds after which a client should poll again. */
const nextPollMs = 10_000
/** Events of one answer: the most, and those of a client that names no number. */
const maxPolled = 100
/** Bytes of a stream that wait for its client. */
const maxBufferedBytes = 256 * 1024
/** An attachment of a socket has at most 16 KiB, and a character up to two bytes. */
const maxReaderCharacters = 7500
/** Seconds after which a client may open a stream again, when it has too many. */
const retryAfterSeconds = 60

const readerOf = (principal: Principal | undefined, args: string): Reader => {
  if (!principal) return { args }
  const { issuer, tenant, subject } = principal
  return { args, who: { issuer, tenant, subject } }
}

/** @throws EventError if this server keeps no log */
function checkMode(isOffered: boolean, value: 'poll' | 'push'): void {
  if (isOffered) return
  throw new EventError('unsupported', `This event is not delivered by ${value}`, { feature: 'deliveryMode', value })
}

export async function poll({ call }: MethodContext, { all, limits, runtime }: Served): Promise<Result> {
  const { params, principal } = call
  const { declared, args } = await readEvent(all, params, principal)
  checkMode(keepsLog(limits), 'poll')
  const { maxEvents = maxPolled } = params
  if (typeof maxEvents !== 'number' || !(maxEvents >= 1))
    throw new McpError('invalid_params', 'maxEvents must be a number of 1 or more')
  const limit = Math.min(Math.floor(maxEvents), maxPolled)
  const index = runtime.object<EventIndexRpc>('McpEvents', `event ${declared.name}`)
  const listener = await listenerOf(principal, runtime.identity, call.request?.address)
  const page = await index.read({ ...readerOf(principal, args), ...readReplay(params), listener, limit })
  return {
    events: page.events.map(({ body }) => JSON.parse(body)),
    cursor: String(page.position),
    truncated: page.isTruncated,
    hasMore: page.hasMore,
    nextPollMs,
  }
}

export const stream =
  ({ all, limits: eventLimits, runtime }: Served): OpenStream =>
  async ({ message, call }, _request, accept, { principal, address, credential }, { limits }) => {
    requireStream(accept)
    const { params } = call
    const scopes = scopesOf(all, params)
    if (!holdsScopes(principal?.scopes, scopes)) throw insufficientScope(scopes)
    const { declared, args } = await readEvent(all, params, principal)
    checkMode(keepsLog(eventLimits), 'push')
    const { after = null, maxAgeMs } = readReplay(params)
    const listener = await listenerOf(principal, runtime.identity, address)
    const reader = readerOf(principal, args)
    if (JSON.stringify(reader).length > maxReaderCharacters) {
      throw new McpError(
        'invalid_params',
        `The arguments and the caller have more than ${maxReaderCharacters} characters: poll instead`,
      )
    }
    const key = `${runtime.identity} ${listener}`
    const leave = listener === '' ? () => {} : takePlace(key, eventLimits.streamsEach)
    if (!leave) throw tooMany()
    const index = runtime.object<EventIndexRpc>('McpEvents', `event ${declared.name}`)
    const _meta = { [subscriptionIdKey]: message.id }
    let cursor: string | undefined
    const notification = (kind: string, fields: Params) =>
      eventFrame(
        JSON.stringify({ jsonrpc: '2.0', method: `notifications/events/${kind}`, params: { ...fields, _meta } }),
      )
    const response = await openRelay({
      ...limits,
      maxBufferedBytes: Math.min(limits.maxBufferedBytes, maxBufferedBytes),
      // The cursor of a stream without events must not become older than the log.
      maxStreamAgeMs: Math.min(limits.maxStreamAgeMs, eventLimits.logMs / 2),
      credential,
      dial(last) {
        const isResumed = last !== undefined
        const value: StreamRequest = {
          reader,
          after: isResumed ? Number(last) : after,
          listener,
          isResumed,
          ...(!isResumed && { maxAgeMs }),
        }
        const headers = { Upgrade: 'websocket', [streamHeader]: encodeURIComponent(JSON.stringify(value)) }
        return index.fetch(new Request('https://events/stream', { headers }))
      },
      frame(payload) {
        // The object of the event sends it.
        const [position, sent]: [number, StreamMessage] = JSON.parse(payload)
        cursor = String(position)
        if (sent.kind === 'position') return ''
        if (sent.kind === 'event') return notification('event', { ...JSON.parse(sent.body), cursor })
        return notification('active', { cursor, truncated: sent.kind === 'gap' })
      },
      heartbeat: () => (cursor === undefined ? undefined : notification('heartbeat', { cursor })),
      lastFrame: eventFrame(resultText(message.id, { resultType: 'complete', _meta })),
      onEnd: leave,
    }).catch((problem) => {
      leave()
      throw problem
    })
    if (response.status === 200) return response
    leave()
    throw tooMany()
  }

function tooMany(): McpError {
  const reason = `Too many streams of events are open: close one, or wait ${retryAfterSeconds} seconds, then try again`
  return tooManyRequests(reason, retryAfterSeconds, 'streams')
}

/** Returns a text for a caller: a user of an endpoint, or a network; empty without both. */
async function listenerOf(principal: Principal | undefined, identity: string, address: string | undefined) {
  if (!principal) return address ? networkOf(address) : ''
  return encodeBase64(await sha256(ownerKey(principal, identity)))
}
