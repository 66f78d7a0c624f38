/** `headers` of proxy() and openApiTools() get the caller: principal, request context, client, state and signal. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Stub, startStub } from './stub.ts'

let stub: Stub
let api: Server
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  api = createServer((request, response) => response.end(JSON.stringify(request.headers))).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const API = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  server = await startServer('test/compose/header-context', { UPSTREAM: stub.url, API })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub?.close()
  api?.close()
})

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const common = (token: string) => ({
    'x-key': `key of Bearer ${token}`,
    'x-user': token,
    'x-client': 'edgemcp-testing',
    'x-signal': 'true',
  })

  test('is the caller that the headers function of an upstream gets, and has its own upstream session', async () => {
    stub.requests.length = 0
    await using ada = await connect(server.url, { revision, token: `ada ${revision}` })
    await using bob = await connect(server.url, { revision, token: `bob ${revision}` })
    await ada.callTool('secret_of', { who: 'ada' })
    await bob.callTool('secret_of', { who: 'bob' })
    const calls = stub.requests.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ headers }) => headers)).toMatchObject([common(`ada ${revision}`), common(`bob ${revision}`)])
    expect(calls[0]?.session).not.toBe(calls[1]?.session)
    expect(stub.requests.filter(({ headers }) => headers['x-key'] === 'none')).toEqual([])
  })

  test('is the caller that the headers function of an API gets, with its session state', async () => {
    const token = `grace ${revision}`
    await using grace = await connect(new URL('/calling/mcp', server.url), { revision, token })
    const sent = async () => {
      const { content } = await grace.callTool('echo')
      return JSON.parse((content as { text: string }[])[0]?.text ?? '')
    }
    expect(await sent()).toMatchObject({ ...common(token), 'x-visits': '1' })
    expect(await sent()).toMatchObject({ 'x-visits': '2' })
  })
})
