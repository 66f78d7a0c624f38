/** Changes of resources with scopes on the standing stream, which tokens with other scopes may open. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer } from 'edgemcp'
import { expect, test, vi } from 'vitest'
import { SubscriptionsPart } from '../../durable-objects/session/added-parts.ts'
import { Session } from '../../durable-objects/session/object.ts'
import type { SessionRpc } from '../../durable-objects/session/rpc.ts'
import type { SessionHost } from '../../durable-objects/session/session-host.ts'
import type { SubscriptionsRpc } from '../../durable-objects/subscriptions/rpc.ts'
import { Subscriptions } from '../../durable-objects/subscriptions/session-part.ts'
import { readRelayMessage } from '../../worker/protocol/relay-messages.ts'
import { openingOf, post, postTo, relayUrl, sessionSettings, week } from './session-post.ts'

type Stub = DurableObjectStub & SessionRpc
const { McpSession } = exports as unknown as { McpSession: { getByName(name: string): Stub } }

const server = createServer({ name: 'test', version: '1.0.0' })
server.resource('secret://1', { description: 'A secret', scopes: ['secret'] }, () => 'a secret')
server.resource('note://1', { description: 'A note' }, () => 'a note')

const caller = { issuer: 'https://issuer.example', subject: 'ada' }
const subscribe = (uri: string) => {
  const principal = { ...caller, scopes: ['secret'], claims: {} }
  return post('resources/subscribe', { uri }, { principal, scopes: [uri === 'secret://1' ? ['secret'] : []] })
}

/** Runs sessions on the storage of one. @param next returns the next instance of the object, after the last one was lost */
async function running(use: (next: () => Session) => Promise<void>) {
  const host = {
    server,
    life: week,
    options: sessionSettings,
    subscriptionsAt: () =>
      ({
        subscribe: async () => true,
        unsubscribeAll: async () => true,
        hasSubscribed: async () => true,
      }) as unknown as SubscriptionsRpc,
    at: () => ({ server: server, seals: () => ({}) }),
    report: (problem: unknown) => {
      throw problem
    },
  }
  await runInDurableObject(McpSession.getByName(crypto.randomUUID()), async (_, state) => {
    const parts = { subscriptions: new SubscriptionsPart({ Subscriptions, shardOf: () => 0 }) }
    // Only what these tests use of a host.
    await use(() => new Session(state, {} as never, host as unknown as SessionHost, parts))
    await state.storage.deleteAll()
  })
}

/** Opens the standing stream. Returns the URIs of the changes on it. */
async function open(session: Session, scopes: string[], relay: string) {
  expect(await session.admit(openingOf({ ...caller, scopes, relay }))).toEqual({ admitted: true })
  const url = relayUrl(`relay=${relay}&admitted=1`)
  const { status, webSocket } = await session.fetch(new Request(url, { headers: { Upgrade: 'websocket' } }))
  expect(status).toBe(101)
  const changed: string[] = []
  webSocket?.addEventListener('message', ({ data }) => {
    for (const [, uri] of (readRelayMessage(data)?.payload ?? '').matchAll(/"uri":"(.*?)"/g)) changed.push(String(uri))
  })
  webSocket?.accept()
  return changed
}

test.each<[string, string[], string[]]>([
  ['without its scope', [], ['note://1']],
  ['with its scope', ['secret'], ['secret://1', 'note://1']],
])('a change under way while a token %s opens the stream', async (_, scopes, expected) => {
  await running(async (next) => {
    const session = next()
    for (const uri of ['secret://1', 'note://1']) {
      expect(await postTo(session, subscribe(uri))).toMatchObject({ status: 200 })
    }
    const changed = await open(session, scopes, 'one')
    // The Subscriptions object sent both before the session unsubscribed.
    for (const resource of ['secret://1', 'note://1']) {
      expect(await session.changed({ resource }, undefined, undefined, resource)).toBe(true)
    }
    await vi.waitFor(() => expect(changed).toContain('note://1'))
    expect(changed).toEqual(expected)
  })
})

test('a change of a resource with scopes over HTTP+SSE, whose stream no other token can open', async () => {
  await running(async (next) => {
    const session = next()
    const url = relayUrl('relay=one&sse=1')
    const { webSocket } = await session.fetch(new Request(url, { headers: { Upgrade: 'websocket' } }))
    const changed: string[] = []
    webSocket?.addEventListener('message', ({ data }) => changed.push(readRelayMessage(data)?.payload ?? ''))
    webSocket?.accept()
    expect(await session.changed({ resource: 'secret://1' })).toBe(true)
    await vi.waitFor(() => expect(changed.join()).toContain('secret://1'))
  })
})
