/**
 * Answers within a session that are none, are to something else, or come twice, late or from somewhere else.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic#responses
 */
import { expect } from 'vitest'
import type { Params } from '../hostile-row.ts'
import { type AskedCall, type Posted, Session } from './asked-call.ts'
import { accepting, honest, type Stage } from './stage.ts'

/** What is done to a call that waits for its answer, what the last POST of it gets, and what becomes of the call. */
export type SessionRow = {
  name: string
  attack: (asked: AskedCall, stage: Stage) => Promise<Posted>
  answer: { status: number; error?: Params }
  fate: Fate
}

/**
 * `waiting`: an honest answer is still taken, and so often handlers of other calls got past their questions meanwhile.
 * `over`: there is no end to hear.
 */
export type Fate = { waiting: number } | 'over' | { error: Params } | { result: Params; passed: number }

const row = (
  name: string,
  attack: SessionRow['attack'],
  answer: SessionRow['answer'],
  fate: Fate = { waiting: 0 },
): SessionRow => ({ name, attack, answer, fate })

const taken = { status: 202 }
const malformed = (message: string) => ({ status: 400, error: { code: -32600, message } })
const unknownSession = {
  status: 404,
  error: { code: -32600, message: 'Session not found: send initialize again' },
}
const says = (word: string): Fate => ({ result: { content: [{ type: 'text', text: `ada says ${word}` }] }, passed: 1 })
const refused = (text: unknown): Fate => ({ result: { content: [{ type: 'text', text }], isError: true }, passed: 0 })
const noWord = refused('The answer to "word" is not a valid elicitation/create result')
const misfit = refused(expect.stringMatching(/^The answer to "word" does not fit its schema: /))

const json = JSON.stringify
const evil = accepting({ word: 'evil' })

/** A response to this question. */
const response = (asked: AskedCall, more: Params): Params => ({ jsonrpc: '2.0', id: asked.question, ...more })
const posting = (more: Params) => (asked: AskedCall) => asked.session.post(response(asked, more))
const writing = (text: (id: string) => string) => (asked: AskedCall) => asked.session.post(text(json(asked.question)))
const cancelling = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

const ids = [
  'ask-2',
  'ask-0',
  'ask--1',
  'ask-01',
  'ask-1.0',
  'ask-1e0',
  'ask-1 ',
  ' ask-1',
  'ASK-1',
  'ask-',
  'ask-\uff11',
  'ask-999999999999999',
  'ask-9999999999999999',
  "ask-1' OR 1=1 --",
  'ask-1\u0000',
  '1',
  '',
  'word',
  '__proto__',
  1,
  0,
  -1,
  2 ** 53 - 1,
]

const unknownIds: SessionRow[] = [
  ...ids.map((id) => row(`a response with the id ${json(id)} is ignored`, posting({ id, result: evil }), taken)),
  ...[null, true, 1.5, 2 ** 53, [], ['ask-1'], {}].map((id) =>
    row(
      `a response with the id ${json(id)} is refused`,
      posting({ id, result: evil }),
      malformed('"id" must be a string or a safe integer, not null or a fraction'),
    ),
  ),
  row(
    'a response without an id is refused',
    posting({ id: undefined, result: evil }),
    malformed('A response needs the id of its request'),
  ),
  ...[null, undefined].map((id) =>
    row(`an error with the id ${json(id)} is ignored`, posting({ id, error: { code: -1, message: 'no' } }), taken),
  ),
  ...[true, 1.5, []].map((id) =>
    row(
      `an error with the id ${json(id)} is refused`,
      posting({ id, error: { code: -1, message: 'no' } }),
      malformed('"id" must be a string or a safe integer, not null or a fraction'),
    ),
  ),
  row(
    'the last of two ids counts',
    writing((id) => `{"jsonrpc":"2.0","id":${id},"result":${json(evil)},"id":"ask-7"}`),
    taken,
  ),
]

/** The call ends with the reason: the client sends no other response. */
const ends = ({ name, attack, answer }: SessionRow): SessionRow => {
  const reason = answer.error?.message
  const text =
    typeof reason === 'string'
      ? `The client returned an error for "word": The server refused the response: ${reason}`
      : expect.stringMatching(/The server refused the response: .*body/)
  return row(name, attack, answer, { result: { content: [{ type: 'text', text }], isError: true }, passed: 0 })
}

const notResponses: SessionRow[] = [
  row('a request with the id of the input request is a request', posting({ method: 'nothing', params: evil }), {
    status: 200,
    error: { code: -32601, message: 'Method not found: nothing' },
  }),
  ...[
    row(
      'a response with a result and an error is refused',
      posting({ result: evil, error: { code: -1, message: 'no' } }),
      malformed('A response has a result or an error, not both'),
    ),
    row(
      'a response with a result and the error null is refused',
      posting({ result: evil, error: null }),
      malformed('A response has a result or an error, not both'),
    ),
    row(
      'a response without a result and an error is refused',
      posting({}),
      malformed('A message needs a method, a result or an error'),
    ),
    row(
      'a message with a method and a result is refused',
      posting({ method: 'ping', result: evil }),
      malformed('A message has a method or a result, not both'),
    ),
    ...[null, true, 1, 'evil', [], [evil]].map((result) =>
      row(`the result ${json(result)} is invalid`, posting({ result }), malformed('"result" must be an object')),
    ),
    ...[
      null,
      true,
      -1,
      'no',
      [],
      {},
      { code: -1 },
      { message: 'no' },
      { code: '-1', message: 'no' },
      { code: 1.5, message: 'no' },
      { code: -1, message: null },
    ].map((error) =>
      row(
        `the error ${json(error)} is invalid`,
        posting({ error }),
        malformed('"error" must be an object with an integer code and a message'),
      ),
    ),
    ...[undefined, null, '1.0', 2, '2.00'].map((jsonrpc) =>
      row(
        `a response of JSON-RPC ${json(jsonrpc)} is refused`,
        posting({ jsonrpc, result: evil }),
        malformed('"jsonrpc" must be "2.0"'),
      ),
    ),
    row(
      'a response that ends unexpectedly is refused',
      writing((id) => `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept"`),
      { status: 400, error: { code: -32700, message: 'The body is not valid JSON' } },
    ),
    row(
      'an input response nested 1,000 deep is refused',
      writing((id) => `{"jsonrpc":"2.0","id":${id},"result":${nested(1_000)}}`),
      malformed('The body has more than 128 levels'),
    ),
    row(
      'a response above the limit of a body is refused',
      posting({ result: { ...evil, more: 'a'.repeat(4 * 1024 * 1024) } }),
      { status: 413, error: { code: -32600, message: expect.stringMatching(/body/i) } },
    ),
  ].map(ends),
  row(
    'a batch of responses is refused',
    (asked) => asked.session.post([response(asked, { result: evil })]),
    malformed('Protocol version 2025-11-25 has no batches: send one message at a time'),
  ),
]

const elsewhere: SessionRow[] = [
  row(
    'a response in another session is ignored',
    async (asked, stage) => (await stage.session()).post(response(asked, { result: evil })),
    taken,
  ),
  row(
    'a response in another session answers the input request of that session',
    async (_, stage) => {
      const other = await (await stage.session()).call()
      const posted = await other.answer(evil)
      await other.next()
      return posted
    },
    taken,
    { waiting: 1 },
  ),
  row(
    'a response to the second input request of another session is ignored',
    async (asked, stage) => {
      const session = await stage.session()
      const [first, second] = [await session.call('ask', 1), await session.call('ask', 2)]
      const posted = await asked.session.post(response(second, { result: evil }))
      for (const one of [first, second]) {
        await session.post({ ...cancelling, params: { requestId: one === first ? 1 : 2 } })
      }
      return posted
    },
    taken,
  ),
  row(
    'a response of Bob in the session of Ada is refused',
    (asked, stage) => new Session(stage.url(), asked.session.id, 'bob').post(response(asked, { result: evil })),
    unknownSession,
  ),
  row(
    'a response of Bob in his own session is ignored',
    async (asked, stage) => (await stage.session({ as: 'bob' })).post(response(asked, { result: evil })),
    taken,
  ),
  row(
    'a response without a token is refused',
    (asked) => asked.session.post(response(asked, { result: evil }), { Authorization: undefined }),
    { status: 401, error: { code: -32600, message: 'Say who you are' } },
  ),
  row(
    'a response without a session is refused',
    (asked) => asked.session.post(response(asked, { result: evil }), { 'Mcp-Session-Id': undefined }),
    malformed(
      'Missing header Mcp-Session-Id: a response answers a request that the server sent in a session. Send initialize, ' +
        'then its Mcp-Session-Id with every request',
    ),
  ),
  row(
    'a response with a truncated session id is refused',
    (asked) =>
      asked.session.post(response(asked, { result: evil }), { 'Mcp-Session-Id': asked.session.id.slice(0, -1) }),
    unknownSession,
  ),
  row(
    'a response with a request state as session id is refused',
    async (asked, stage) =>
      asked.session.post(response(asked, { result: evil }), { 'Mcp-Session-Id': await stage.state() }),
    unknownSession,
  ),
  ends(
    row(
      'a response of a stateless client is refused',
      (asked) => asked.session.post(response(asked, { result: evil }), { 'MCP-Protocol-Version': '2026-07-28' }),
      malformed('A stateless client sends no responses'),
    ),
  ),
  ends(
    row(
      'a response with an unsupported protocol version is refused',
      (asked) => asked.session.post(response(asked, { result: evil }), { 'MCP-Protocol-Version': '2020-01-01' }),
      {
        status: 400,
        error: {
          code: -32022,
          message:
            'Unsupported protocol version 2020-01-01: this server supports 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, ' +
            '2024-11-05',
          data: { supported: ['2026-07-28'], requested: '2020-01-01' },
        },
      },
    ),
  ),
  row(
    'a second call with the id of the first does not answer it',
    (asked) =>
      asked.session.post({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'ask', inputResponses: { word: evil } },
      }),
    malformed('The id 1 is in use by a request in progress: use another id'),
  ),
]

const wrong: SessionRow[] = [
  ...[
    {},
    { action: null },
    { action: 'yes' },
    { action: ['accept'], content: { word: 'evil' } },
    { word: 'evil' },
    { content: { word: 'evil' } },
    { word: evil },
    { result: evil },
    { role: 'assistant', model: 'm', content: { type: 'text', text: 'evil' } },
    { roots: [{ uri: 'file:///evil' }] },
  ].map((result) => row(`${json(result)} is an invalid input response`, posting({ result }), taken, noWord)),
  ...[
    undefined,
    null,
    'evil',
    [],
    {},
    { word: null },
    { word: 1 },
    { word: '' },
    { word: 'more than twenty characters' },
    { word: ['evil'] },
    { Word: 'evil' },
  ].map((content) =>
    row(`${json(content)} is invalid content`, posting({ result: { action: 'accept', content } }), taken, misfit),
  ),
  row(
    'content of a megabyte is invalid',
    posting({ result: accepting({ word: 'a'.repeat(1_000_000) }) }),
    taken,
    misfit,
  ),
  row(
    'a result with a __proto__ member is invalid',
    writing((id) => `{"jsonrpc":"2.0","id":${id},"result":{"__proto__":${json(evil)}}}`),
    taken,
    noWord,
  ),
  row(
    'content with a __proto__ member is invalid',
    writing(
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","content":{"__proto__":{"word":"evil"}}}}`,
    ),
    taken,
    misfit,
  ),
  ...[
    { code: -1, message: 'no' },
    { code: -32602, message: '' },
    { code: 0, message: 'accept', data: evil },
  ].map((error) =>
    row(`the error ${json(error)} rejects the input request`, posting({ error }), taken, {
      result: {
        isError: true,
        content: [{ type: 'text', text: `The client returned an error for "word": ${error.message}` }],
      },
      passed: 0,
    }),
  ),
]

/** One answer after another, to the same question. */
const twice = (first: Params, second: Params) => async (asked: AskedCall) => {
  await asked.session.post(response(asked, first))
  return asked.session.post(response(asked, second))
}

const late: SessionRow[] = [
  row(
    'the same response twice counts once',
    twice({ result: honest.word }, { result: honest.word }),
    taken,
    says('honest'),
  ),
  row('another response is ignored', twice({ result: honest.word }, { result: evil }), taken, says('honest')),
  row(
    'an error after a response is ignored',
    twice({ result: honest.word }, { error: { code: -1, message: 'no' } }),
    taken,
    says('honest'),
  ),
  row('a response after an invalid one is ignored', twice({ result: {} }, { result: evil }), taken, noWord),
  row(
    'a response after a decline is ignored',
    twice({ result: { action: 'decline' } }, { result: evil }),
    taken,
    says('decline'),
  ),
  row(
    'the same response ten times concurrently counts once',
    async (asked) => {
      const posted = await Promise.all(Array.from({ length: 10 }, () => asked.answer(honest.word)))
      return posted.find(({ status }) => status !== 202) ?? (posted[0] as Posted)
    },
    taken,
    says('honest'),
  ),
  row(
    'a response to a cancelled call is ignored',
    async (asked) => {
      await asked.session.post(cancelling)
      expect(await asked.next()).toMatchObject({
        method: 'notifications/cancelled',
        params: { requestId: asked.question },
      })
      return asked.answer(evil)
    },
    taken,
    'over',
  ),
  row(
    'a response in an ended session is refused',
    async (asked) => {
      await asked.session.end()
      return asked.answer(evil)
    },
    unknownSession,
    'over',
  ),
  row(
    'a cancellation of the input request is ignored',
    (asked) => asked.session.post({ ...cancelling, params: { requestId: asked.question } }),
    taken,
  ),
]

/** Meant to go on: nothing of what is odd about them reaches a handler. */
const harmless: SessionRow[] = [
  row('a valid input response is accepted', posting({ result: honest.word }), taken, says('honest')),
  row(
    'a decline with content is a decline',
    posting({ result: { action: 'decline', content: { word: 'evil' } } }),
    taken,
    says('decline'),
  ),
  row(
    'a cancellation with content is a cancellation',
    posting({ result: { action: 'cancel', content: 1 } }),
    taken,
    says('cancel'),
  ),
  row(
    'other members of an input response are removed',
    posting({ result: { ...honest.word, isError: true }, more: 1 }),
    taken,
    says('honest'),
  ),
  row(
    'other members of the content are removed',
    posting({
      result: accepting({
        ...Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key ${index}`, 1])),
        word: 'honest',
      }),
    }),
    taken,
    says('honest'),
  ),
  row(
    'a __proto__ member of the content is removed',
    writing(
      (id) =>
        `{"jsonrpc":"2.0","id":${id},"result":{"action":"accept","content":{"word":"honest","__proto__":{"word":"evil"}}}}`,
    ),
    taken,
    says('honest'),
  ),
]

export const sessionAnswers = { unknownIds, notResponses, elsewhere, wrong, late, harmless }
