import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { initializeSession, postMessage } from '../support/session-http.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/support/everything')
})
afterAll(() => server[Symbol.asyncDispose]())

/** What became a stream once is asked for with its stream the next time, if it is short enough. */
test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
  'a repeated call of %s sends the same messages as the first one, for arguments of any size',
  async (revision) => {
    await using client = await connect(server.url, { revision })
    for (const padding of ['', '', 'x'.repeat(10_000), 'ü😀\u2028', '']) {
      const heard: number[] = []
      const params = { name: 'progress', arguments: { steps: 3 }, padding }
      const result = await client.request('tools/call', params, {
        onProgress: ({ progress }) => heard.push(progress as number),
      })
      expect(heard).toEqual([1, 2, 3])
      expect(result).toMatchObject({ content: [{ type: 'text' }] })
    }
    // The same name, with nothing to say before its answer, and with an error for one.
    for (let time = 0; time < 2; time += 1) {
      expect(await client.callTool('progress', { steps: 2 })).toMatchObject({ content: [{ type: 'text' }] })
      expect(await client.callTool('progress', { steps: 'many' })).toMatchObject({ isError: true })
    }
    await client.close()
  },
)

/** Request ids have to be unique within a session, and a stream's answer is found by its id. */
test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
  'a request of %s with the id of a running one is refused with 400, and the first one is answered',
  async (revision) => {
    const { session } = await initializeSession(server.url, revision)
    const post = (message: object) => postMessage(server.url, message, session)
    const key = `${revision} ids`
    const call = (id: unknown, name: string, args: object) =>
      post({ id, method: 'tools/call', params: { name, arguments: args, _meta: { progressToken: 'p' } } })
    const first = await call(1, 'wait', { key })
    expect(first.headers.get('Content-Type')).toBe('text/event-stream')
    const second = await call(1, 'echo', { text: 'second' })
    expect(second.status).toBe(400)
    expect(await second.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32600, message: 'The id 1 is in use by a request in progress: use another id' },
    })
    // A text is another id than a number.
    expect((await call('1', 'echo', { text: 'third' })).status).toBe(200)
    await post({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await first.text()
    expect((await call(1, 'echo', { text: 'fourth' })).status).toBe(200)
  },
)
