/**
 * JSON that is not quite JSON-RPC, and batches.
 *
 * @see https://www.jsonrpc.org/specification
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
import { expect } from 'vitest'
import {
  answered,
  empty,
  envelope,
  inSession,
  notification,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  type Sendable,
} from './hostile-row.ts'

const invalid = refused(400, -32600)
const invalidWithId = refused(400, -32600, 1)

/** Discovery with these members of its own. */
const discover = (more: Params = {}) =>
  post(
    { ...request('server/discover', { _meta: envelope() }), ...more },
    { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'server/discover' },
  )
const modern = (message: unknown) => post(message, { 'MCP-Protocol-Version': '2026-07-28' })
const response = (more: Params) => ({ jsonrpc: '2.0', ...more })
const taken = empty(202)

const ping = (id: number) => request('ping', undefined, { id })
const batch = (messages: unknown[], version = '2025-03-26'): Sendable => inSession(messages, {}, version)
const pings = (count: number) => Array.from({ length: count }, (_, id) => ping(id))

export const shapes: Row[] = [
  // Requests
  ...[undefined, '1.0', '2', '2.0 ', 2, null, ['2.0'], {}].map((jsonrpc) =>
    row(`a request with the jsonrpc ${JSON.stringify(jsonrpc)} is refused`, discover({ jsonrpc }), invalidWithId),
  ),
  ...[null, true, [], [1], {}, 1.5].map((id) =>
    row(`a request with the id ${JSON.stringify(id)} is refused`, discover({ id }), invalid),
  ),
  ...[null, 1, true, [], ['ping'], {}].map((method) =>
    row(`a request with the method ${JSON.stringify(method)} is refused`, discover({ method }), invalidWithId),
  ),
  ...[null, [], 'text', 7, true].map((params) =>
    row(`a request with the params ${JSON.stringify(params)} is refused`, discover({ params }), invalidWithId),
  ),
  row('a request without an id is a notification', discover({ id: undefined }), taken),
  row('a request with a result is refused', discover({ result: {} }), invalidWithId),
  row('a request with an error is refused', discover({ error: { code: 1, message: '' } }), invalidWithId),
  row('a message without a method, result or error is refused', post(response({ id: 1 })), invalidWithId),
  row('a message in capitals is refused', post({ JSONRPC: '2.0', ID: 1, METHOD: 'ping' }), invalid),
  row('a notification with params in a list is refused', inSession(notification('notifications/x', [])), invalid),
  row('an unknown notification is accepted', inSession(notification('notifications/constructor')), taken),

  // Responses. A refusal has no id: with one, a client could take it for the answer to a request of its own.
  row(
    'a response with a result and an error is refused',
    inSession(response({ id: 1, result: {}, error: {} })),
    invalid,
  ),
  ...[null, [], 'text', 7].map((result) =>
    row(
      `a response with the result ${JSON.stringify(result)} is refused`,
      inSession(response({ id: 1, result })),
      invalid,
    ),
  ),
  ...[null, 'text', [], {}, { code: 1 }, { code: '1', message: 'm' }, { code: 1.5, message: 'm' }].map((error) =>
    row(
      `a response with the error ${JSON.stringify(error)} is refused`,
      inSession(response({ id: 1, error })),
      invalid,
    ),
  ),
  row('a result without an id is refused', inSession(response({ result: {} })), invalid),
  row('a result with the id null is refused', inSession(response({ id: null, result: {} })), invalid),
  row('an error without an id is accepted', inSession(response({ error: { code: -1, message: 'm' } })), taken),
  row(
    'an error with the id null is accepted',
    inSession(response({ id: null, error: { code: -1, message: 'm' } })),
    taken,
  ),
  row('a response without a session is refused', post(response({ id: 1, result: {} })), invalid),
  row(
    'an error with an invalid id, without a session, is refused',
    post(response({ id: { a: 1 }, error: { code: -1, message: 'm' } })),
    invalid,
  ),
  row(
    'a response to an unknown session is not found',
    post(response({ id: 1, result: {} }), { 'Mcp-Session-Id': 'unknown' }),
    refused(404, -32600),
  ),
  row('a result in stateless framing is refused', modern(response({ id: 1, result: {} })), invalid),
  row(
    'an error in stateless framing is refused',
    modern(response({ id: 1, error: { code: 1, message: '' } })),
    invalid,
  ),

  // Batches
  row('a batch is answered with a batch, in its order', batch([ping(2), notification('notifications/x'), ping(1)]), {
    status: 200,
    messages: [
      { id: 2, result: {} },
      { id: 1, result: {} },
    ],
  }),
  row('a batch of one is answered with a batch of one', batch([ping(1)]), {
    status: 200,
    text: '[{"jsonrpc":"2.0","id":1,"result":{}}]',
  }),
  row('a batch of ten is answered', batch(pings(10)), {
    status: 200,
    messages: pings(10).map(({ id }) => ({ id, result: {} })),
  }),
  row('a batch of eleven is refused', batch(pings(11)), invalid),
  row('a batch of notifications is accepted', batch([notification('notifications/x')]), taken),
  row('a batch of responses to unknown requests is accepted', batch([response({ id: 'ask-1', result: {} })]), taken),
  row(
    'an id twice in a batch is answered once and refused once',
    batch([1, 1].map((id) => request('tools/call', { name: 'ask_name' }, { id }))),
    {
      status: 200,
      messages: expect.arrayContaining([
        expect.objectContaining({ id: 1, result: expect.anything() }),
        expect.objectContaining({ id: 1, error: expect.objectContaining({ code: -32600 }) }),
      ]),
    },
  ),
  ...['2024-11-05', '2025-06-18', '2025-11-25'].map((version) =>
    row(`a batch is refused in ${version}`, batch([ping(1)], version), invalid),
  ),
  ...['2025-03-26', '2025-11-25'].map((version) =>
    row(`an empty batch is refused in ${version}`, batch([], version), invalid),
  ),
  row('an empty batch is refused in stateless framing', modern([]), invalid),
  row('a batch in a batch is refused', batch([[ping(1)]]), invalid),
  row('a batch with an invalid message is refused', batch([ping(1), 7]), invalid),
  row(
    'a batch with something too deep is refused',
    batch([ping(1), JSON.parse('['.repeat(200) + ']'.repeat(200))]),
    invalid,
  ),
  row('a batch with an initialize is refused', post([request('initialize', {})]), invalid),
  row('a batch with an initialize is refused in a session', batch([ping(1), request('initialize', {})]), invalid),
  row('a batch without a session is served', post([ping(1), ping(2)]), {
    status: 200,
    messages: [
      { id: 1, result: {} },
      { id: 2, result: {} },
    ],
  }),
  row('a batch in stateless framing is refused', modern([request('server/discover', { _meta: envelope() })]), invalid),
  row(
    'a batch with a stateless request is refused in a session',
    batch([ping(1), request('server/discover', { _meta: envelope() })]),
    invalid,
  ),
  row('an unknown method in a batch is an error in its place', batch([ping(1), request('x', {}, { id: 2 })]), {
    status: 200,
    messages: [
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ],
  }),
  row('a ping after all that is answered', inSession(ping(1)), answered(1)),
]
