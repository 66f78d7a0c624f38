import type { Opening, Post, Posted, PostedSession, SessionRpc } from '../../durable-objects/session/rpc.ts'
import { defaultLogBounds } from '../../durable-objects/shared/event-log.ts'
import type { Message, RequestMessage } from '../../worker/protocol/jsonrpc.ts'

/** Milliseconds for which the sealed id of a session is valid. */
export const week = 7 * 24 * 60 * 60_000

/** Options of a session, for tests that make its object themselves. */
export const sessionSettings = {
  streamAfterMs: 1000,
  keepAliveMs: 15_000,
  ttl: week,
  log: defaultLogBounds,
  revive: true,
}

/** What a Worker hands to the Session object of a client of 2025-11-25 that can be asked for input. */
export const postOf = (messages: Message[], more: Partial<Post> = {}): Post => ({
  messages,
  scopes: messages.map(() => []),
  batch: false,
  handshake: { version: '2025-11-25', capabilities: { elicitation: {} }, client: { name: 'test', version: '1' } },
  principal: undefined,
  caller: undefined,
  address: undefined,
  http: { url: 'https://mcp.example/mcp', headers: '' },
  session: 'sealed',
  expires: Date.now() + week,
  streams: true,
  bodyUntil: Date.now() + week,
  ...more,
})

/** The same with one request. */
export const post = (method: string, params: object = {}, more: Partial<Post> = {}): Post =>
  postOf([{ jsonrpc: '2.0', id: 1, method, params } as RequestMessage], more)

/** Sends a POST to a session, as a Worker does that reads the body of its stream. */
export async function postAndRead(
  to: Pick<SessionRpc, 'post'>,
  { principal, handshake, session, tenant, expires, ...request }: Post,
): Promise<Posted> {
  const common: PostedSession = { handshake, session, tenant, expires }
  const posted = await to.post(JSON.stringify(request), JSON.stringify(common), principal)
  return typeof posted === 'string' ? { status: 200, text: posted } : posted
}

/** What a Worker asks before it opens the stream of an anonymous client. */
export const openingOf = (more: Partial<Opening> = {}): Opening => ({
  expires: Date.now() + week,
  issuer: undefined,
  tenant: undefined,
  subject: undefined,
  client: undefined,
  scopes: [],
  after: undefined,
  relay: 'one',
  ...more,
})

/** Sends a POST to a session, as a Worker that leaves before it reads the body of the stream. */
export async function postTo(to: Pick<SessionRpc, 'post'>, sent: Post): Promise<Posted> {
  const posted = await postAndRead(to, sent)
  if (!('stream' in posted) || !posted.body) return posted
  const { body, ...rest } = posted
  await body.cancel()
  return rest
}

/** Returns the URL that opens a relay to a session. */
export const relayUrl = (query: string): string =>
  `https://session/relay?${new URLSearchParams({
    expires: String(Date.now() + week),
    ...Object.fromEntries(new URLSearchParams(query)),
  })}`
