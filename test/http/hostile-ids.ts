/**
 * Ids as they may be written, ids in use, and ids that were never given out.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic#requests
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
 */
import {
  answered,
  inSession,
  notification,
  type Params,
  post,
  type Row,
  refused,
  request,
  row,
  type Sendable,
  type Stage,
  said,
  stateless,
  type Wire,
} from './hostile-row.ts'

const discover = stateless('server/discover')

/** A request with the id written exactly so. */
const written = (id: string): Wire => ({ ...discover, body: String(discover.body).replace('"id":1', `"id":${id}`) })

const under = (session: string, message: unknown): Wire => post(message, { 'Mcp-Session-Id': session })

/** A session in which a call with the id 1 runs until it is cancelled. */
async function waiting(stage: Stage, key: string): Promise<string> {
  const session = await stage.session()
  const params = { name: 'wait', arguments: { key }, _meta: { progressToken: 'token' } }
  const until = (text: string) => text.includes('notifications/progress')
  await stage.send({ ...under(session, request('tools/call', params)), until })
  return session
}

/** A session in which a call with the id 1 has asked for a name, as `ask-1`. */
async function asking(stage: Stage): Promise<string> {
  const session = await stage.session('2025-11-25', { elicitation: {} })
  const until = (text: string) => text.includes('elicitation/create')
  await stage.send({ ...under(session, request('tools/call', { name: 'ask_name' })), until })
  return session
}

/** Something is taken without a word in between. */
async function take(stage: Stage, wire: Wire): Promise<void> {
  const { status, text } = await stage.send(wire)
  if (status !== 202 || text !== '') throw new Error(`Not taken: ${status} ${text}`)
}

let waits = 0

/** What became of a call with the id 1 after a cancellation with these params. */
function cancelling(params: unknown): Sendable {
  const key = `wait ${++waits}`
  return async (stage) => {
    const session = await waiting(stage, key)
    await take(stage, under(session, notification('notifications/cancelled', params)))
    return under(session, request('tools/call', { name: 'waited', arguments: { key } }, { id: 2 }))
  }
}

/** Another request under the id of a call that asked, after it was answered so: refused as long as the call asks. */
const answering =
  (message: Params): Sendable =>
  async (stage) => {
    const session = await asking(stage)
    await take(stage, under(session, message))
    return under(session, request('ping'))
  }
const stillAsks = refused(400, -32600, 1)

const result = { action: 'accept', content: { name: 'Ada' } }

export const ids: Row[] = [
  // As they may be written
  row('the id 0 comes back', written('0'), answered(0)),
  row('the id -0 comes back as 0', written('-0'), answered(0)),
  row('the id 1.0 is 1', written('1.0'), answered(1)),
  row('the id 1e2 is 100', written('1e2'), answered(100)),
  row('the largest safe id comes back', written('9007199254740991'), answered(9007199254740991)),
  row('the smallest safe id comes back', written('-9007199254740991'), answered(-9007199254740991)),
  ...['9007199254740992', '1e400', '-1e400', '1.5'].map((id) =>
    row(`${id} is not an id`, written(id), refused(400, -32600)),
  ),
  row('an empty id comes back', written('""'), answered('')),
  row('an id of 1,024 letters comes back', written(`"${'i'.repeat(1_024)}"`), answered('i'.repeat(1_024))),
  row(
    'an id of 1,024 letters comes back from a session',
    inSession(request('tools/call', { name: 'nothing' }, { id: 'i'.repeat(1_024) })),
    answered('i'.repeat(1_024), { content: [] }),
  ),
  row('an id of 100,000 letters is refused', written(`"${'i'.repeat(100_000)}"`), refused(400, -32600)),
  row(
    'an id of 100,000 letters is refused in a session',
    inSession(request('tools/call', { name: 'nothing' }, { id: 'i'.repeat(100_000) })),
    refused(400, -32600),
  ),

  // In use
  row(
    'the id of a running request is refused',
    async (stage) => under(await waiting(stage, 'in use'), request('tools/call', { name: 'nothing' })),
    refused(400, -32600, 1),
  ),
  row(
    'the id of a request that waits for input is refused',
    async (stage) => under(await asking(stage), request('ping')),
    stillAsks,
  ),
  row(
    'the same id as a string is another id',
    async (stage) => under(await waiting(stage, 'other type'), request('ping', {}, { id: '1' })),
    answered('1'),
  ),
  row(
    'the same id in another session is another id',
    async (stage) => {
      await waiting(stage, 'other session')
      return under(await stage.session(), request('ping'))
    },
    answered(1),
  ),

  // Cancelled
  ...[undefined, null, { toString: 1 }, ['a', { b: 1 }], 'r'.repeat(100_000)].map((reason) =>
    row(
      `a call is cancelled whatever the reason: ${JSON.stringify(reason)?.slice(0, 20)}`,
      cancelling({ requestId: 1, reason }),
      said(2, 'cancelled'),
    ),
  ),
  ...[
    undefined,
    {},
    { requestId: 99 },
    { requestId: '1' },
    { requestId: null },
    { requestId: [1] },
    { requestId: {} },
  ].map((params) =>
    row(`cancelling ${JSON.stringify(params)} leaves the call 1 running`, cancelling(params), said(2, 'waiting')),
  ),
  row(
    'a cancelled id may be used again',
    async (stage) => {
      const session = await waiting(stage, 'again')
      await take(stage, under(session, notification('notifications/cancelled', { requestId: 1 })))
      return under(session, request('ping'))
    },
    answered(1),
  ),

  // Never given out
  ...[1, 'ask-2', 'ask-01', 'ask-1.0', 'ask--1', ' ask-1', 'ASK-1', 'ask-', `ask-${'9'.repeat(30)}`].map((id) =>
    row(
      `a response to ${JSON.stringify(id)} is not a response to ask-1`,
      answering({ jsonrpc: '2.0', id, result }),
      stillAsks,
    ),
  ),
  row('a notification with a result is not a response', answering(notification('ask-1', result)), stillAsks),
  row(
    'an error without an id is not a response',
    answering({ jsonrpc: '2.0', error: { code: -1, message: '' } }),
    stillAsks,
  ),
  row(
    'a response in another session is ignored',
    async (stage) => {
      const session = await asking(stage)
      await take(stage, under(await stage.shared('2025-11-25'), { jsonrpc: '2.0', id: 'ask-1', result }))
      return under(session, request('ping'))
    },
    stillAsks,
  ),
  row('a response completes the input request', answering({ jsonrpc: '2.0', id: 'ask-1', result }), answered(1)),
]
