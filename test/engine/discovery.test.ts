import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Server } from '../../worker/declarations/server.ts'
import { initialize } from '../../worker/engine/methods/initialize.ts'
import { revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { callerFor, newServer, refusal, result } from './stage.ts'

const description = 'd'

describe('server capabilities', () => {
  const full = () => {
    const server = newServer({ instructions: 'Call it.', caching: { ttlMs: 5, cacheScope: 'public' } })
    server.tool('t', { description }, () => '')
    server.resource('a:{x}', { description, complete: { x: () => [] } }, () => '')
    server.prompt('p', { description }, () => '')
    return server
  }

  test('are returned by server/discover', async () => {
    expect(await result(full(), 'server/discover')).toEqual({
      supportedVersions: ['2026-07-28'],
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
      },
      instructions: 'Call it.',
      ttlMs: 5,
      cacheScope: 'public',
    })
  })

  test('declare no change notifications without subscriptions()', async () => {
    expect(await result(full(), 'server/discover', {}, { updates: false })).toMatchObject({
      capabilities: {
        tools: { listChanged: false },
        resources: { subscribe: false, listChanged: false },
        prompts: { listChanged: false },
      },
    })
  })

  test('are only logging on an empty server', async () => {
    expect(await result(newServer(), 'server/discover')).toEqual({
      supportedVersions: ['2026-07-28'],
      capabilities: { logging: {} },
      ttlMs: 0,
      cacheScope: 'private',
    })
  })

  test('are not available by server/discover in versions with a handshake', async () => {
    expect((await refusal(full(), 'server/discover', {}, { date: '2025-11-25' })).kind).toBe('method_not_found')
  })

  test.each([
    'ping',
    'initialize',
    'logging/setLevel',
    'subscriptions/listen',
    'constructor',
    '__proto__',
    '',
    'tools',
  ])('do not make %j a method of stateless requests', async (method) => {
    const { kind, message } = await refusal(full(), method)
    expect([kind, message]).toEqual(['method_not_found', `Method not found: ${method}`])
  })
})

describe('a handshake', () => {
  const params = { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo: { name: 'c', version: '1' } }

  test('keeps the version, the client and its capabilities', () => {
    const clientInfo = { ...params.clientInfo, title: 'C', icons: [] }
    expect(initialize.negotiate({ ...params, clientInfo })).toEqual({
      version: '2025-06-18',
      capabilities: { roots: {} },
      client: { name: 'c', version: '1' },
    })
  })

  test('negotiates a version with sessions', () => {
    expect(initialize.negotiate({ ...params, protocolVersion: '2026-07-28' }).version).toBe('2025-11-25')
    expect(initialize.negotiate({ ...params, protocolVersion: '1.0' }).version).toBe('2025-11-25')
  })

  test.each<[string, Params | undefined, string]>([
    ['nothing', undefined, 'params.protocolVersion must be a string'],
    ['no version', { ...params, protocolVersion: undefined }, 'params.protocolVersion must be a string'],
    ['a version that is a number', { ...params, protocolVersion: 1 }, 'params.protocolVersion must be a string'],
    ['capabilities that are no object', { ...params, capabilities: null }, 'params.capabilities must be an object'],
    ['capabilities that are a list', { ...params, capabilities: [] }, 'params.capabilities must be an object'],
    ['no client', { ...params, clientInfo: undefined }, 'params.clientInfo must be an object with name and version'],
    [
      'half a client',
      { ...params, clientInfo: { name: 'c' } },
      'params.clientInfo must be an object with name and version',
    ],
  ])('with %s is refused', (_, wrong, message) => {
    expect(() => initialize.negotiate(wrong)).toThrow(expect.objectContaining({ kind: 'invalid_envelope', message }))
  })

  test('stores the capabilities without the experimental ones', () => {
    const capabilities = {
      roots: {},
      sampling: {},
      elicitation: {},
      extensions: { 'a/b': {} },
      experimental: { a: {} },
    }
    expect(initialize.negotiate({ ...params, capabilities }).capabilities).toEqual({
      roots: {},
      sampling: {},
      elicitation: {},
      extensions: { 'a/b': {} },
    })
  })

  test.each<[string, Params]>([
    ['a name', { clientInfo: { name: 'x'.repeat(5000), version: '1' } }],
    ['a capability', { capabilities: { extensions: { x: { y: 'x'.repeat(5000) } } } }],
  ])('with %s that is too large for a session id is refused', (_, large) => {
    const message = expect.stringMatching(/take \d+ bytes of the session id: this server accepts at most 4096$/)
    expect(() => initialize.negotiate({ ...params, ...large })).toThrow(
      expect.objectContaining({ kind: 'invalid_envelope', message }),
    )
  })

  test('declares logging with sessions, with or without subscriptions', async () => {
    const { declarations } = newServer()
    const answer = (features: { updates: boolean; hasSessions: boolean }) =>
      initialize.answer(declarations, revisionOf('2025-11-25') as never, features, callerFor())
    expect((await answer({ updates: true, hasSessions: true })).capabilities).toEqual({ logging: {} })
    expect((await answer({ updates: false, hasSessions: true })).capabilities).toEqual({ logging: {} })
    expect((await answer({ updates: false, hasSessions: false })).capabilities).toEqual({})
  })

  test('is answered with the members of the protocol version', async () => {
    const about = {
      title: 'T',
      description: 'd',
      websiteUrl: 'https://e.com/',
      icons: [{ src: 'https://e.com/i.png' }],
    }
    const { declarations } = newServer({ ...about, instructions: 'Call.' }).use(
      (server: Server) =>
        void server.prompt(
          'p',
          { description, argsSchema: z.object({ a: z.string() }), complete: { a: () => [] } },
          () => '',
        ),
    )
    const answer = (date: string) =>
      initialize.answer(declarations, revisionOf(date) as never, { updates: true, hasSessions: true }, callerFor())
    expect(await answer('2025-11-25')).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { logging: {}, completions: {}, prompts: { listChanged: true } },
      serverInfo: { name: 'test', version: '1', ...about },
      instructions: 'Call.',
    })
    expect((await answer('2025-06-18')).serverInfo).toEqual({ name: 'test', version: '1', title: 'T' })
    expect((await answer('2025-03-26')).serverInfo).toEqual({ name: 'test', version: '1' })
    expect((await answer('2024-11-05')).capabilities).toEqual({ logging: {}, prompts: { listChanged: true } })
  })
})
