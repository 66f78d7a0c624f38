/** The rounds of a call that several upstreams could answer: what belongs to one upstream reaches no other one. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Journal, withAnswers } from '../../worker/engine/journal.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { accept, newServer, type Played, play, type Setting } from '../engine/stage.ts'
import { nodeProxy } from './node-proxy.ts'
import { type Answers, described, rpcError, type ScriptedRequest, scripted } from './scripted.ts'
import { textResult } from './stub.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type Upstream = ReturnType<typeof scripted>
type Options = NonNullable<Parameters<typeof nodeProxy>[2]>

const everything = { tools: {}, prompts: {}, resources: {}, completions: {} }
const form = { type: 'object', properties: { pin: { type: 'string' } } }

/** The answers to a call, a prompt and a resource. */
const results: Readonly<Record<string, (own: string) => Params>> = {
  'tools/call': textResult,
  'prompts/get': (own) => ({ messages: [], description: own }),
  'resources/read': (own) => ({ contents: [{ uri: 'bank://account', text: own }] }),
}

/** An upstream that lists the entries of the others, too, and asks before it answers. @param offered its capabilities, which can change */
function asking(own: string, offered: { now: Params } = { now: everything }, answers: Answers = {}): Upstream {
  const ask = ({ method = '', params }: ScriptedRequest) =>
    params.inputResponses
      ? results[method]?.(own)
      : {
          resultType: 'input_required',
          requestState: `state of ${own}`,
          inputRequests: {
            pin: { method: 'elicitation/create', params: { message: `PIN?`, requestedSchema: form } },
          },
        }
  return scripted({
    'server/discover': () => described(offered.now),
    'tools/list': { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] },
    'prompts/list': { prompts: [{ name: 'pay' }] },
    'resources/list': { resources: [{ uri: 'bank://account', name: 'account' }] },
    'resources/templates/list': { resourceTemplates: [] },
    ...Object.fromEntries(Object.keys(results).map((method) => [method, ask])),
    ...answers,
  })
}

type Mounted = readonly [url: string, Upstream, Options?]
function gatewayTo(...upstreams: readonly Mounted[]) {
  const server = newServer()
  for (const [url, { fetch }, options] of upstreams) server.use(nodeProxy(`https://${url}.example/mcp`, fetch, options))
  return server
}

/** Returns the journal of a round that requested input, with the response. */
function answered({ outcome }: Played): Journal {
  if (outcome.type !== 'input_required') throw new Error(`No input is requested: ${JSON.stringify(outcome)}`)
  expect(Object.keys(outcome.inputRequests)).toEqual(['1 pin'])
  return JSON.parse(JSON.stringify(withAnswers(outcome.journal, { '1 pin': { result: accept({ pin: '4711' }) } })))
}

const outcomeOf = (playing: Promise<Played>) =>
  playing.then(({ outcome }) => JSON.stringify(outcome)).catch((thrown: unknown) => String(thrown))
const gone = /^McpError: The upstream server that started this call is no longer available to its caller/
/** What an upstream has received of the rounds of a call. */
const roundsAt = ({ requests }: Upstream) =>
  requests.filter(({ method = '' }) => method in results).map(({ params }) => params.requestState)

const calls: [method: string, params: Params][] = [
  ['tools/call', { name: 'pay', arguments: {} }],
  ['prompts/get', { name: 'pay' }],
  ['resources/read', { uri: 'bank://account' }],
]

describe.each(calls)('%s %j, whose upstream has requested input', (method, params) => {
  const goesOn = async (
    first: ReturnType<typeof newServer>,
    second: typeof first,
    later: Setting = {},
    then = () => {},
  ) => {
    const journal = answered(await play(first, method, params))
    then()
    return outcomeOf(play(second, method, params, { ...later, journal }))
  }

  test('goes on at it when another one offers the entry meanwhile', async () => {
    const offered = { now: {} }
    const other = asking('other', offered)
    const own = asking('own')
    const server = gatewayTo(['other', other], ['own', own])
    const end = await goesOn(server, server, {}, () => {
      offered.now = everything
      vi.setSystemTime(Date.now() + 61_000)
    })
    expect([end, roundsAt(own), roundsAt(other)]).toEqual([
      expect.stringContaining('own'),
      [undefined, 'state of own'],
      [],
    ])
  })

  test.each<[what: string, Options]>([
    ['', {}],
    ['of the same URL and prefix ', { headers: () => ({ Authorization: 'Bearer other' }) }],
  ])('goes on at it when the server has another one %sbefore it meanwhile', async (what, options) => {
    const other = asking('other')
    const own = asking('own')
    const beside: Mounted = [what ? 'own' : 'other', other, options]
    const end = await goesOn(gatewayTo(['own', own], beside), gatewayTo(...(what ? [] : [beside]), ['own', own]))
    expect([end, roundsAt(own), roundsAt(other)]).toEqual([
      expect.stringContaining('own'),
      [undefined, 'state of own'],
      [],
    ])
  })

  test('ends when the server does not have it any more', async () => {
    const other = asking('other')
    const end = await goesOn(gatewayTo(['own', asking('own')]), gatewayTo(['other', other]))
    expect([end, roundsAt(other)]).toEqual([expect.stringMatching(gone), []])
  })

  test('ends when the server has it under another prefix, which fits, too', async () => {
    const moved = asking('own')
    const prefixed: Params = method === 'resources/read' ? params : { ...params, name: 'p_pay' }
    const named = (prefix: string, upstream: Upstream): Mounted => ['own', upstream, { prefix }]
    const first = gatewayTo(named('p_', asking('own')))
    const journal = answered(await play(first, method, prefixed))
    const end = await outcomeOf(play(gatewayTo(named('', moved)), method, prefixed, { journal }))
    expect([end, roundsAt(moved)]).toEqual([expect.stringMatching(gone), []])
  })

  const as = (...scopes: string[]): { principal: Principal } => ({
    principal: { issuer: 'https://names.example', subject: 'ada', scopes, claims: {} },
  })
  test.each<[is: string, scopes: string[], own: unknown[]]>([
    ['goes on at it when the caller may use another one, too', ['a', 'b'], [undefined, 'state of own']],
    ['ends when the caller may use another one only', ['a'], [undefined]],
  ])('%s', async (_, scopes, rounds) => {
    const other = asking('other')
    const own = asking('own')
    const server = gatewayTo(['other', other, { scopes: ['a'] }], ['own', own, { scopes: ['b'] }])
    const journal = answered(await play(server, method, params, as('b')))
    const end = await outcomeOf(play(server, method, params, { ...as(...scopes), journal }))
    const expected = rounds.length > 1 ? expect.stringContaining('own') : expect.stringMatching(gone)
    expect([end, roundsAt(own), roundsAt(other)]).toEqual([expected, rounds, []])
  })
})

describe('a resource that no upstream lists, of which the second one has requested input', () => {
  const unlisted: Answers = { 'resources/list': { resources: [] } }
  /** An upstream that does not have the resource at first. */
  const late = (then: (request: ScriptedRequest) => Params | undefined) => {
    let reads = 0
    const read = (request: ScriptedRequest) => {
      reads += 1
      return reads === 1 ? rpcError(request.id, -32602, 'Unknown resource') : then(request)
    }
    return asking('other', undefined, { ...unlisted, 'resources/read': read })
  }
  const read = (server: ReturnType<typeof newServer>, setting?: Setting) =>
    play(server, 'resources/read', { uri: 'bank://account' }, setting)

  test.each<[what: string, then: (request: ScriptedRequest) => Params | undefined]>([
    ['answers', () => results['resources/read']?.('other')],
    [
      'requests the same input',
      () => ({
        resultType: 'input_required',
        requestState: 'state of other',
        inputRequests: { pin: { method: 'elicitation/create', params: { message: 'PIN?', requestedSchema: form } } },
      }),
    ],
  ])('goes on there when the first one %s meanwhile', async (_, then) => {
    const other = late(then)
    const own = asking('own', undefined, unlisted)
    const server = gatewayTo(['other', other], ['own', own])
    const journal = answered(await read(server))
    const end = await outcomeOf(read(server, { journal }))
    expect([end, roundsAt(own)]).toEqual([expect.stringContaining('own'), [undefined, 'state of own']])
    expect(JSON.stringify(roundsAt(other))).not.toContain('own')
    expect(JSON.stringify(other.requests)).not.toContain('4711')
  })

  test('ends when it fails', async () => {
    const other = asking('other', undefined, unlisted)
    const own = asking('own', undefined, {
      ...unlisted,
      'resources/read': ({ id, params }) =>
        params.inputResponses
          ? rpcError(id, -32602, 'Unknown resource')
          : { resultType: 'input_required', inputRequests: { pin: { method: 'roots/list' } } },
    })
    const server = gatewayTo(['own', own], ['other', other])
    const journal = answered(await read(server))
    expect(await outcomeOf(read(server, { journal }))).toBe('McpError: Unknown resource')
    expect(roundsAt(other)).toEqual([])
  })
})
