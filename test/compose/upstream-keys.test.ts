/** Credentials of callers at an upstream with sessions: each session acts for the credentials with which it began. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { answerAsAsked, type Stub, startStub } from './stub.ts'

let stub: Stub
let server: TestServer
beforeAll(async () => {
  stub = await startStub()
  server = await startServer('test/compose/keyed', { UPSTREAM: stub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  stub.close()
})
beforeEach(() => {
  stub.requests.length = 0
})
afterEach(() => {
  stub.call = answerAsAsked
})

const at = (path: string, token: string) =>
  connect(new URL(path, server.url), { revision: '2026-07-28', sse: false, token })
const call = async (path: string, token: string) => {
  await using client = await at(path, token)
  return client.callTool('secret_of', { who: token })
}
const changeKey = async (of: string, is: string) => {
  const response = await fetch(new URL(`/key?of=${of}&is=${is}`, server.url), { method: 'POST' })
  expect(response.status).toBe(200)
}
const sent = (name: string) => stub.requests.filter(({ http, method }) => (method ?? http) === name)
const keysOf = (name: string) => sent(name).map(({ headers }) => headers['x-key'])

describe('a key that changes', () => {
  test('begins a session with the new key, and ends the old one with the old key', async () => {
    await changeKey('ada', 'first')
    await call('/mcp', 'ada')
    await call('/mcp', 'ada')
    await changeKey('ada', 'second')
    await call('/mcp', 'ada')
    await call('/mcp', 'ada')
    expect(keysOf('initialize')).toEqual(['first', 'second'])
    expect(keysOf('tools/call')).toEqual(['first', 'first', 'second', 'second'])
    const [first, again, second, last] = sent('tools/call').map(({ session }) => session)
    expect([again, last]).toEqual([first, second])
    expect(second).not.toBe(first)
    await expect.poll(() => sent('DELETE').map(({ session }) => session)).toEqual([first])
    expect(keysOf('DELETE')).toEqual(['first'])
  })

  test('leaves a call that runs in its session', async () => {
    await changeKey('bob', 'first')
    const arrived = Promise.withResolvers<() => void>()
    stub.call = (request, response) => arrived.resolve(() => answerAsAsked(request, response))
    const running = call('/mcp', 'bob')
    const finish = await arrived.promise
    stub.call = answerAsAsked
    await changeKey('bob', 'second')
    await call('/mcp', 'bob')
    expect(sent('DELETE')).toEqual([])
    finish()
    expect(await running).toMatchObject({ content: [{ text: 'the secret of bob' }] })
    await expect.poll(() => keysOf('DELETE')).toEqual(['first'])
  })

  test('leaves the sessions of other callers', async () => {
    for (const name of ['cid', 'dan']) {
      await changeKey(name, 'same')
      await call('/mcp', name)
    }
    await changeKey('cid', 'other')
    for (const name of ['cid', 'dan']) await call('/mcp', name)
    const [cid, dan, cidLater, danLater] = sent('tools/call').map(({ session }) => session)
    expect(cidLater).not.toBe(cid)
    expect(dan).not.toBe(cid)
    expect(danLater).toBe(dan)
  })
})
