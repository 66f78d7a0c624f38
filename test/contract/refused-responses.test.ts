/** A response to an input request that the server refuses ends the call that waits for it with the reason, at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { type ClientKind, everyClient } from '../support/behaviour.ts'
import { startEverything, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startEverything()
})
afterAll(() => server[Symbol.asyncDispose]())

type Body = { jsonrpc: '2.0'; id: string; result: unknown }

/**
 * Calls a tool that requests input, as a client whose responses arrive as other texts.
 *
 * @param rewrite returns the body of the POST in place of a response; `undefined`: the client sends it with the next one
 */
async function callWith({ revision, sse }: ClientKind, tool: string, rewrite: (body: Body) => string | undefined) {
  // The call may end before the response of its last POST has arrived.
  const answer = Promise.withResolvers<{ status: number; error: unknown }>()
  const send = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    const text = request.method === 'POST' ? await request.text() : ''
    const isResponse = text !== '' && !('method' in JSON.parse(text))
    const body = isResponse ? rewrite(JSON.parse(text)) : text
    if (body === undefined) return new Response(null, { status: 202 })
    const response = await fetch(new URL(url.pathname + url.search, server.url), {
      method: request.method,
      headers: request.headers,
      signal: request.signal,
      ...(request.method === 'POST' && { body }),
    })
    if (!isResponse) return response
    answer.resolve({ status: response.status, error: (await response.json()).error.message })
    return new Response(null, { status: 202 })
  }
  await using client = await connect(send, {
    revision,
    sse,
    answers: {
      roots: () => ({ roots: [] }),
      sample: () => ({ role: 'assistant', content: { type: 'text', text: 'A' }, model: 'm' }),
    },
  })
  const { content, isError } = await client.callTool(tool)
  return { answer: await answer.promise, result: { content, isError } }
}

const failure = (reason: string, key = 'roots') => ({
  isError: true,
  content: [
    { type: 'text', text: `The client returned an error for "${key}": The server refused the response: ${reason}` },
  ],
})

const tooLarge = 'The body is larger than 1000000 bytes'
const large = 'x'.repeat(1_100_000)
const nested = '['.repeat(200) + ']'.repeat(200)

const cases: [what: string, status: number, reason: string, write: (body: Body) => string][] = [
  [
    'is too large, with its id in front',
    413,
    tooLarge,
    ({ id }) => `{"jsonrpc":"2.0","id":"${id}","result":{"a":"${large}"}}`,
  ],
  [
    'is too large, with its id at the end',
    413,
    tooLarge,
    ({ id }) => `{ "result" : {"a":"${large}"}, "jsonrpc": "2.0" , "id": "${id}"}\n`,
  ],
  [
    'has no result',
    400,
    'A message needs a method, a result or an error',
    ({ id }) => JSON.stringify({ jsonrpc: '2.0', id }),
  ],
  ['has the result null', 400, '"result" must be an object', (body) => JSON.stringify({ ...body, result: null })],
  [
    'has a result and an error',
    400,
    'A response has a result or an error, not both',
    (body) => JSON.stringify({ ...body, error: {} }),
  ],
  [
    'has an error without a code',
    400,
    '"error" must be an object with an integer code and a message',
    ({ id }) => JSON.stringify({ jsonrpc: '2.0', id, error: 'no' }),
  ],
  ['is not of JSON-RPC 2.0', 400, '"jsonrpc" must be "2.0"', ({ id, result }) => JSON.stringify({ id, result })],
  [
    'is nested too deep',
    400,
    'The body has more than 128 levels',
    ({ id }) => `{"jsonrpc":"2.0","id":"${id}","result":{"a":${nested}}}`,
  ],
  [
    'is not JSON',
    400,
    'The body is not valid JSON',
    ({ id }) => `{"jsonrpc":"2.0","id":"${id}","result":{"roots":NaN}}`,
  ],
]

for (const kind of everyClient.filter(({ revision }) => revision < '2026-07-28')) {
  describe(`with ${kind.name}, the call ends if the response`, () => {
    test.each(cases)('%s', async (_, status, reason, write) => {
      const { answer, result } = await callWith(kind, 'ask_roots', write)
      expect(answer).toEqual({ status, error: reason })
      expect(result).toEqual(failure(reason))
    })
  })
}

test('a batch that is refused ends the calls that wait for its responses', async () => {
  const kind = { name: '2025-03-26', revision: '2025-03-26', sse: false }
  const held: Body[] = []
  const { answer, result } = await callWith(kind, 'ask_around', (body) => {
    held.push(body)
    return held.length < 2 ? undefined : JSON.stringify([{ ...held[0], result: null }, held[1]])
  })
  expect(answer).toEqual({ status: 400, error: '"result" must be an object' })
  expect(result).toEqual(failure('"result" must be an object', 'model'))
})
