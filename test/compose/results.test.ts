/** What an upstream returns is data: it reaches a client as far as the protocol has words for it. */
import { describe, expect, test } from 'vitest'
import { readResult } from '../../worker/compose/proxy/results.ts'
import { newServer, play, refusal } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'

const read = (method: string, result: Record<string, unknown>, canBeAsked = true) =>
  readResult(method, result, canBeAsked, 'upstream.example')
const visit = (url: string) => ({ method: 'elicitation/create', params: { mode: 'url', url, message: 'Sign in' } })
const asks = (request: unknown) => ({ resultType: 'input_required', inputRequests: { a: request }, requestState: 's' })

describe('a result of an upstream without sessions', () => {
  test.each<[string, Record<string, unknown>]>([
    ['tools/call', { resultType: 'task', taskId: '1' }],
    ['tools/call', { resultType: 'surprise', content: [] }],
    ['tools/call', { resultType: 7, content: [] }],
    ['tools/call', asks({ method: 'tools/call', params: {} })],
    ['tools/call', asks('x')],
    ['tools/call', asks(visit('javascript://localhost/%0aalert(1)'))],
    ['tools/call', asks(visit('http://login.example'))],
    ['tools/call', { resultType: 'input_required', inputRequests: [], requestState: 's' }],
    ['tools/call', { resultType: 'input_required', inputRequests: {}, requestState: 7 }],
    ['completion/complete', asks({ method: 'roots/list' })],
    ['tools/list', asks({ method: 'roots/list' })],
    ['tools/call', { content: 'x' }],
    ['tools/call', { content: ['x'] }],
    ['prompts/get', { description: 'd' }],
    ['resources/read', { contents: {} }],
    ['completion/complete', { completion: [] }],
  ])('of %s is refused: %j', (method, result) => {
    expect(() => read(method, result)).toThrow(
      expect.objectContaining({
        kind: 'unavailable',
        message: expect.stringMatching(/^The server at upstream\.example answered .* with an invalid result: /),
      }),
    )
  })

  test('has its members, and no others', () => {
    const more = { task: {}, taskId: '1', inputRequests: {}, requestState: 's', x: 1 }
    expect(read('tools/call', { resultType: 'complete', content: [], isError: true, ...more })).toEqual({
      content: [],
      isError: true,
    })
    expect(read('tools/call', { structuredContent: 1 })).toEqual({ content: [], structuredContent: 1 })
    expect(read('resources/read', { contents: [], ttlMs: 1, cacheScope: 'public', _meta: { a: 1 }, ...more })).toEqual({
      contents: [],
      ttlMs: 1,
      cacheScope: 'public',
      _meta: { a: 1 },
    })
  })

  test('that asks has what it asks, and no others', () => {
    const request = visit('https://login.example')
    expect(read('prompts/get', { ...asks(request), content: [], x: 1 })).toEqual(asks(request))
  })
})

test('an upstream with sessions asks nothing in a result', () => {
  expect(read('tools/call', { ...asks({ method: 'roots/list' }), content: [] }, false)).toEqual({ content: [] })
  expect(() => read('tools/call', asks({ method: 'roots/list' }), false)).toThrow('"content" must be a list of objects')
})

test('what an upstream asks reaches a client only as far as it declared that it can be asked', async () => {
  const upstream = async (_: string, { body }: RequestInit) => {
    const { id, method } = JSON.parse(String(body))
    const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    const result = method === 'server/discover' ? described : asks(visit('https://evil.example/login'))
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
  const refused = (capabilities: object) => refusal(server, 'tools/call', { name: 'x' }, { capabilities })
  for (const capabilities of [{}, { elicitation: { form: {} } }, { sampling: {} }]) {
    expect(await refused(capabilities)).toMatchObject({ kind: 'missing_client_capability' })
  }
  const { outcome } = await play(server, 'tools/call', { name: 'x' }, { capabilities: { elicitation: { url: {} } } })
  expect(outcome).toMatchObject({ asks: { '1 a': visit('https://evil.example/login') } })
})

test('an upstream that asks nothing, again and again, is given up', async () => {
  let rounds = 0
  const upstream = async (_: string, { body }: RequestInit) => {
    const { id, method } = JSON.parse(String(body))
    const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
    if (method !== 'server/discover') rounds += 1
    const result = method === 'server/discover' ? described : { resultType: 'input_required', requestState: 's' }
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const server = newServer().use(nodeProxy('https://upstream.example/mcp', upstream))
  expect(await refusal(server, 'tools/call', { name: 'x' })).toMatchObject({
    kind: 'unavailable',
    message: 'The upstream asks for input again after 100 rounds',
  })
  expect(rounds).toBe(100)
})
