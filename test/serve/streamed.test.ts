import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/support/everything')
})
afterAll(() => server[Symbol.asyncDispose]())

/** What became a stream once is asked for with its stream the next time, if it is short enough. */
test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
  'a call of %s says the same the first time and later, however large it is',
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
