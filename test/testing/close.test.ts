import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startEverything, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startEverything()
})
afterAll(() => server[Symbol.asyncDispose]())

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Without a reference to any request, of which the platform has a weak one. */
const ownFetch = (request: Request) => fetch(request)

test.each([
  ['2024-11-05', true, 'the fetch of the platform', undefined],
  ['2024-11-05', true, 'a fetch of its own', ownFetch],
  ['2025-11-25', false, 'the fetch of the platform', undefined],
  ['2025-11-25', false, 'a fetch of its own', ownFetch],
  ['2026-07-28', false, 'the fetch of the platform', undefined],
  ['2026-07-28', false, 'a fetch of its own', ownFetch],
] as const)(
  'streams of a client of %s (HTTP+SSE: %s) with %s end after garbage collection',
  async (revision, sse, _, own) => {
    const options = { url: server.url, revision, sse }
    const client = own ? await connect(own, options) : await connect(server.url, options)
    const subscription = await client.subscribe({ toolsListChanged: true })
    const abort = new AbortController()
    const { signal } = abort
    const listening =
      revision === '2026-07-28' &&
      client.request('subscriptions/listen', { notifications: { toolsListChanged: true } }, { signal })
    for (let turn = 0; turn < 5; turn++) {
      await client.callTool('echo', { text: 'hi' })
      collectGarbage()
    }
    abort.abort(new Error('The user left'))
    if (listening) await expect(listening).rejects.toThrow('The user left')
    await expect(subscription.close()).resolves.toBeUndefined()
    await expect(client.close()).resolves.toBeUndefined()
  },
)
