import type { Post } from '../../durable-objects/rpc.ts'
import type { Message, RequestMessage } from '../../worker/protocol/jsonrpc.ts'

/** Milliseconds for which the sealed id of a session is valid. */
export const week = 7 * 24 * 60 * 60_000

/** What a Worker hands to the Session object of a client of 2025-11-25 that can be asked for input. */
export const postOf = (messages: Message[], more: Partial<Post> = {}): Post => ({
  messages,
  batch: false,
  handshake: { version: '2025-11-25', capabilities: { elicitation: {} }, client: { name: 'test', version: '1' } },
  principal: undefined,
  caller: undefined,
  session: 'sealed',
  identity: 'test',
  expires: Date.now() + week,
  streams: true,
  ...more,
})

/** The same with one request. */
export const post = (method: string, params: object = {}, more: Partial<Post> = {}): Post =>
  postOf([{ jsonrpc: '2.0', id: 1, method, params } as RequestMessage], more)
