/** A deployment reaches Workers and objects at different times: each may be called by the release before it, and the one after. */

import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import type { SessionRpc } from '../../durable-objects/rpc.ts'

type Stub = DurableObjectStub & SessionRpc
const namespace = (exports as unknown as { McpSession: { getByName(name: string): Stub } }).McpSession

/** What a Worker of release 0.1 sends. Not to be changed: later objects must read it. */
const release01 = {
  post: (name: string, args: object) => ({
    messages: [{ jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params: { name, arguments: args } }],
    batch: false,
    handshake: { version: '2025-11-25', capabilities: { elicitation: {} }, client: { name: 'test', version: '1' } },
    principal: undefined,
    caller: undefined,
    session: 'sealed',
    identity: 'test',
    expires: 4_102_444_800_000,
    streams: true,
  }),
  opening: { expires: 4_102_444_800_000, tenant: undefined, scopes: ['a'], after: undefined },
  relay: 'https://session/relay?admitted=1&relay=one&expires=4102444800000&primes=1',
}

describe.each([
  ['of release 0.1', {}],
  // What a later release adds is ignored.
  ['with members that are not known', { later: { than: 'this' } }],
])('a Worker %s', (_, more) => {
  test('calls a tool, and gets its result or a stream', async () => {
    const stub = namespace.getByName(crypto.randomUUID())
    const done = await stub.post({ ...release01.post('echo', { text: 'hi' }), ...more })
    expect(done).toMatchObject({ status: 200, text: expect.stringContaining('hi') })
    expect(await stub.post({ ...release01.post('ask_name', {}), ...more })).toEqual({ stream: expect.any(Number) })
  })

  test('calls a tool with texts, and gets its result as a text', async () => {
    const stub = namespace.getByName(crypto.randomUUID())
    const { handshake, session, identity, expires, principal, ...request } = release01.post('echo', { text: 'hi' })
    const texts = [
      { ...request, ...more },
      { handshake, session, identity, expires, ...more },
    ] as const
    const [posted, to] = texts.map((part) => JSON.stringify(part)) as [string, string] // one for each part
    expect(await stub.postText(posted, to, principal)).toMatch(/^\{"jsonrpc":"2.0","id":1,"result":.*hi/)
    const unknown = posted.replace('"tools/call"', '"nothing"')
    expect(JSON.parse(String(await stub.postText(unknown, to, principal)))).toMatchObject({ error: { code: -32601 } })
  })

  test('opens the stream of a session', async () => {
    const stub = namespace.getByName(crypto.randomUUID())
    expect(await stub.admit({ ...release01.opening, ...more })).toEqual({ admitted: true })
    const url = `${release01.relay}${Object.keys(more).map((name) => `&${name}=1`)}`
    const response = await stub.fetch(new Request(url, { headers: { Upgrade: 'websocket' } }))
    expect(response.status).toBe(101)
    response.webSocket?.accept()
    response.webSocket?.close(4000)
    expect(await stub.end(4_102_444_800_000)).toBe(true)
    expect(await runInDurableObject(stub, (_, { storage }) => storage.kv.get('ended'))).toBe(4_102_444_800_000)
  })
})
