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

test.each([
  ['2024-11-05', true],
  ['2025-11-25', false],
  ['2026-07-28', false],
])('close() of a client of %s resolves after garbage collection', async (revision, sse) => {
  const client = await connect(server.url, { revision, sse })
  await client.subscribe({ toolsListChanged: true })
  for (let turn = 0; turn < 5; turn++) {
    await client.callTool('echo', { text: 'hi' })
    collectGarbage()
  }
  await expect(client.close()).resolves.toBeUndefined()
})
