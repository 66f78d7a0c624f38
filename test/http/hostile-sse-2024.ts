/**
 * The pair of endpoints of 2024: a stream that is the session, and where to post to it.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { vi } from 'vitest'
import {
  envelope,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  type Sendable,
  type Stage,
  type Wire,
} from './hostile-row.ts'

const initialize = (more: Params = {}) =>
  request('initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
    ...more,
  })
const welcome = { id: 1, result: { protocolVersion: '2024-11-05' } }
const failure = (id: number, code: number) => ({ id, error: { code } })

/** The endpoint in what a stream has said so far. */
const endpointIn = (text: string): string | undefined => /^data: (\/\S+)$/m.exec(text)?.[1]

/** The endpoint of a stream that is closed as soon as it has named it. */
async function endpoint(stage: Stage): Promise<string> {
  const { text } = await stage.send({ method: 'GET', path: '/sse', until: (text) => endpointIn(text) !== undefined })
  return endpointIn(text) as string
}

/** POST to the endpoint of a stream. */
const posting =
  (body: unknown, at: string | ((stage: Stage) => Promise<string>) = endpoint, more: Partial<Wire> = {}): Sendable =>
  async (stage) => ({ ...post(body), ...more, path: typeof at === 'string' ? at : await at(stage) })

/** A stream on which these messages are answered, and the answers. Each is posted when the one before it was taken. */
function conversation(name: string, sent: readonly unknown[], answers: readonly unknown[]): Row {
  const send: Sendable = (stage) => {
    let begun = false
    const postAll = async (path: string) => {
      for (const message of sent) await stage.send({ ...post(message), path })
    }
    return {
      method: 'GET',
      path: '/sse',
      until(text) {
        const path = endpointIn(text)
        if (path && !begun) postAll(path)
        begun ||= path !== undefined
        return (text.match(/^data: \{.*\n\n/gm) ?? []).length >= answers.length
      },
    }
  }
  return row(name, send, { status: 200, messages: answers })
}

/** The endpoint of a stream, once the server has noticed that it is closed. */
async function closed(stage: Stage): Promise<string> {
  const path = await endpoint(stage)
  await vi.waitFor(
    async () => {
      const { status } = await stage.send({ ...post(request('ping')), path })
      if (status !== 404) throw new Error(`Still ${status}`)
    },
    { interval: 50 },
  )
  return path
}

const unknown = refused(404, -32600, 1)

export const sse2024: Row[] = [
  // Posting
  row('a POST without a session is refused', posting(request('ping'), '/messages'), refused(400, -32600, 1)),
  ...['', 'garbage', 'table.AAAA', '%00', '%ff', '../../mcp', 'a&session=b'].map((id) =>
    row(`the session "${id}" is unknown`, posting(request('ping'), `/messages?session=${id}`), unknown),
  ),
  row(
    'a session of the other endpoint is unknown',
    posting(request('ping'), async (stage) => `/messages?session=${await stage.shared('2025-11-25')}`),
    unknown,
  ),
  row(
    'a session of this pair is unknown at the other endpoint',
    async (stage) => {
      const id = new URLSearchParams((await endpoint(stage)).split('?')[1]).get('session') as string
      return post(request('ping'), { 'Mcp-Session-Id': id })
    },
    unknown,
  ),
  row('a POST after the stream was closed is not found', posting(request('ping'), closed), unknown),
  row('invalid JSON is refused', posting('{'), refused(400, -32700)),
  row('an invalid message is refused', posting({ jsonrpc: '2.0', id: 1 }), refused(400, -32600, 1)),
  row('a batch is refused', posting([request('ping')]), refused(400, -32600)),
  row('an empty batch is refused', posting([]), refused(400, -32600)),
  row(
    'a type that is not JSON is refused',
    posting('{}', endpoint, { headers: { 'Content-Type': 'text/plain' } }),
    refused(415, -32600),
  ),
  row('a body that is too large is refused', posting(' '.repeat(1_000_001)), refused(413, -32600)),
  row('invalid JSON is refused without a session as well', posting('{', '/messages'), refused(400, -32700)),

  // What the stream says
  conversation('a ping before initialize is answered', [request('ping')], [{ id: 1, result: {} }]),
  conversation('any other request before initialize is refused', [request('tools/list')], [failure(1, -32600)]),
  conversation('an invalid initialize is refused', [initialize({ clientInfo: null })], [failure(1, -32602)]),
  conversation(
    'a second initialize is refused',
    [initialize(), { ...initialize(), id: 2 }],
    [welcome, failure(2, -32600)],
  ),
  conversation(
    'a valid initialize after a refused one is accepted',
    [{ ...initialize({ capabilities: [] }), id: 0 }, initialize()],
    [failure(0, -32602), welcome],
  ),
  conversation(
    'a stateless request is an unknown method',
    [initialize(), request('server/discover', { _meta: envelope() }, { id: 2 })],
    [welcome, failure(2, -32601)],
  ),
  conversation(
    'an unknown response and an unknown cancellation are ignored',
    [
      { jsonrpc: '2.0', id: 'ask-1', result: {} },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: {}, reason: { toString: 1 } } },
      initialize(),
    ],
    [welcome],
  ),
]
