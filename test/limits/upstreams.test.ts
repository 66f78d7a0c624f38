/** The limits of tools that several upstreams may have. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { type Stub, sendJson, startStub, textResult } from '../compose/stub.ts'
import { startServer, type TestServer } from '../support/server.ts'

let stub: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  stub.tools = ['strict', 'loose', 'hidden', 'rated'].map((name) => ({ name, inputSchema: { type: 'object' } }))
  stub.call = ({ id, method }, response) =>
    method === undefined
      ? response.writeHead(202).end()
      : sendJson(response, { jsonrpc: '2.0', id, result: textResult('called') })
  server = await startServer('test/limits/upstreams', { UPSTREAM: stub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub?.close()
})

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  /** Returns how many of five calls are answered. */
  async function answered(token: string, name: string): Promise<number> {
    await using client = await connect(server.url, { revision, token })
    let count = 0
    for (let call = 0; call < 5; call += 1) {
      const isAnswered = await client.callTool(name).then(
        () => true,
        (problem: Error) => !problem.message.includes('Too many calls'),
      )
      if (isAnswered) count += 1
    }
    return count
  }

  test.each([
    ['the first upstream', 'eve+premium', 'strict', 1],
    ['the second upstream', 'bob+free', 'strict', 3],
    ['the first upstream', 'eve+premium', 'loose', 5],
    ['the second upstream', 'bob+free', 'loose', 2],
    ['both upstreams, of which the strictest counts', 'dan+premium+free', 'strict', 1],
    ['both upstreams, of which the strictest counts', 'dan+premium+free', 'loose', 2],
    ['the upstream that does not hide the tool', 'cy+free', 'hidden', 2],
    ['both upstreams, if neither hides the tool', 'ada+free', 'hidden', 1],
    ['its own upstream, also if another tool has the same limit', 'bob+free', 'other_strict', 1],
    ['its own upstream, also if another tool has the same limit', 'bob+free', 'other_loose', 1],
  ])('has the limit of %s: %s calls %s', async (_, token, name, most) => {
    expect(await answered(token.replace('+', `${revision.slice(0, 4)}+`), name)).toBe(most)
  })

  test('is counted once under equal rates of several upstreams', async () => {
    // A minute may begin meanwhile.
    expect(await answered(`fay${revision}+premium+free`, 'rated')).toBeGreaterThanOrEqual(4)
  })
})
