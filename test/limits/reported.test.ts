import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AuditEvent } from '../../worker/plugins/observe/audit/index.ts'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { statelessHeaders } from '../support/stateless.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer('test/limits/limited')
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

type Observed = { method: string; name?: string; outcome: { is: string; kind?: string; message?: string } }

let callers = 0
/** The token of a caller who has used nothing up yet. A longer one would be struck out of the reports. */
const newCaller = () => `r${++callers}`

/** What audit() and observe() reported of the calls of a caller, as soon as `isComplete`. */
async function reportsOf(caller: string, isComplete: (audited: AuditEvent[], observed: Observed[]) => boolean) {
  return vi.waitFor(async () => {
    const response = await fetch(new URL(`/events?subject=${caller}`, server.url))
    const { audited, observed } = (await response.json()) as { audited: AuditEvent[]; observed: Observed[] }
    const calls = observed.filter(({ method }) => method === 'tools/call')
    expect(isComplete(audited, calls)).toBe(true)
    return { audited, observed: calls }
  })
}

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** A call of 2026-07-28. */
const enveloped = (id: number, name: string, args?: object) => {
  const message = call(id, name, args)
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return { ...message, params: { ...message.params, _meta } }
}

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

const post = (body: unknown, headers: Record<string, string>, path: string | URL = server.url) =>
  fetch(new URL(path, server.url), { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })

async function release(): Promise<void> {
  await using client = await connect(server.url, { revision: '2026-07-28', token: newCaller() })
  await client.callTool('release')
}

type Call = readonly [name: string, args?: object]
type Sent = { readonly status: number; readonly texts: string }
/** Sends calls without waiting for one before the next. */
type Send = (caller: string, calls: readonly Call[]) => Promise<Sent>

const read = async (response: Response): Promise<Sent> => ({ status: response.status, texts: await response.text() })

async function sessionOf(revision: string, caller: string): Promise<Record<string, string>> {
  const client: TestClient = await connect(server.url, { revision, token: caller })
  return { Authorization: `Bearer ${caller}`, 'Mcp-Session-Id': client.session as string }
}

/** The status is that of the response: one for all calls, or that of the error. */
const transports: [name: string, status: number | 'of the error', send: Send][] = [
  [
    'a batch in a session',
    200,
    async (caller, calls) => {
      const batch = calls.map(([name, args], id) => call(id, name, args))
      return read(await post(batch, await sessionOf('2025-03-26', caller)))
    },
  ],
  [
    'batches without a session',
    200,
    async (caller, calls) => {
      const messages = calls.map(([name, args], id) => call(id, name, args))
      const headers = { Authorization: `Bearer ${caller}`, 'MCP-Protocol-Version': '2025-03-26' }
      // Two, because the calls of one run one after the other.
      const batches = [messages.slice(0, 1), messages.slice(1)]
      return together(await Promise.all(batches.map(async (batch) => read(await post(batch, headers)))))
    },
  ],
  [
    'calls of a session whose client takes event streams only',
    200,
    async (caller, calls) => {
      const headers = { ...(await sessionOf('2025-11-25', caller)), Accept: 'text/event-stream' }
      const responses = calls.map(async ([name, args], id) => read(await post(call(id, name, args), headers)))
      return together(await Promise.all(responses))
    },
  ],
  [
    'stateless calls whose client takes event streams only',
    'of the error',
    async (caller, calls) => {
      const responses = calls.map(async ([name, args], id) => {
        const headers = { Authorization: `Bearer ${caller}`, Accept: 'text/event-stream' }
        return read(await post(enveloped(id, name, args), { ...statelessHeaders('tools/call', name), ...headers }))
      })
      return together(await Promise.all(responses))
    },
  ],
  [
    'calls over HTTP+SSE',
    202,
    async (caller, calls) => {
      await using client = await connect(server.url, { revision: '2024-11-05', sse: true, token: caller })
      const answers = calls.map(([name, args]) =>
        client.callTool(name, args as Record<string, unknown>).then(JSON.stringify, (error: Error) => error.message),
      )
      return { status: 202, texts: (await Promise.all(answers)).join('\n') }
    },
  ],
]

const together = (sent: readonly Sent[]): Sent => ({
  status: Math.max(...sent.map(({ status }) => status)),
  texts: sent.map(({ texts }) => texts).join('\n'),
})

describe.each(transports)('%s: a call that a limit refuses', (_, answered, send) => {
  const statusOf = (error: number) => (answered === 'of the error' ? error : answered)
  const refusedIn = (events: AuditEvent[]) => events.filter(({ outcome }) => outcome === 'refused')

  test.each<[reason: string, calls: Call[], message: RegExp]>([
    ['quota', [['daily'], ['free'], ['daily'], ['daily']], /Too many calls of daily: at most 2 in a day/],
    // Seven, because one minute may end between them.
    ['rate', Array(7).fill(['bound']), /Too many calls of bound: at most 3 in a minute/],
    ['concurrent', [['silent'], ['silent']], /Too many calls of silent are running: at most 1 at a time/],
  ])('is reported as refused by %s, by audit() and observe()', async (reason, calls, message) => {
    const caller = newCaller()
    const [name] = calls[0] as Call
    const sending = send(caller, calls)
    if (name === 'silent') await releaseRefused()
    const sent = await sending
    const status = statusOf(429)
    expect(sent.status).toBe(status)
    const refusals = sent.texts.match(new RegExp(message, 'g'))?.length ?? 0
    expect(refusals).toBeGreaterThan(0)
    const { audited, observed } = await reportsOf(
      caller,
      (events, calls) => refusedIn(events).length >= refusals && calls.length >= refusals,
    )
    expect(audited).toHaveLength(refusals)
    for (const event of audited) {
      expect(event).toMatchObject({
        outcome: 'refused',
        status,
        reason: { kind: 'too_many_requests', reason, message: expect.stringMatching(message) },
        targets: [{ method: 'tools/call', name }],
      })
    }
    expect(observed).toHaveLength(refusals)
    for (const event of observed) {
      expect(event).toMatchObject({
        name,
        outcome: { type: 'error', kind: 'too_many_requests', message: expect.stringMatching(message) },
      })
    }

    /** Lets the first call return once another one was refused while it ran. */
    async function releaseRefused(): Promise<void> {
      await reportsOf(caller, (events) => refusedIn(events).length > 0)
      let isSettled = false
      void sending.finally(() => {
        isSettled = true
      })
      await expect
        .poll(async () => {
          await release()
          return isSettled
        })
        .toBe(true)
    }
  })

  test('is reported as refused for the size of its arguments', async () => {
    const caller = newCaller()
    await send(caller, [['free'], ['echo', { text: 'x'.repeat(2_000) }]])
    const { audited } = await reportsOf(caller, (events) => refusedIn(events).length > 0)
    expect(audited).toMatchObject([
      { outcome: 'refused', status: statusOf(413), reason: { kind: 'content_too_large' }, targets: [{ name: 'echo' }] },
    ])
  })

  test('is not reported as allowed, although its caller has the scopes', async () => {
    const caller = newCaller()
    await send(caller, [['vault'], ['vault']])
    const { audited } = await reportsOf(caller, (events) => events.length >= 2)
    expect(audited.map(({ outcome, reason }) => [outcome, reason?.reason]).sort()).toEqual([
      ['allowed', undefined],
      ['refused', 'quota'],
    ])
  })
})

describe('a call that is refused as a whole response', () => {
  const stateless = async (caller: string, name: string, args?: object) => {
    const headers = { ...statelessHeaders('tools/call', name), Authorization: `Bearer ${caller}` }
    return read(await post(enveloped(1, name, args), headers))
  }
  const inSession = async (caller: string, name: string, args?: object) =>
    read(await post(call(1, name, args), await sessionOf('2025-11-25', caller)))

  describe.each<[string, (caller: string, name: string, args?: object) => Promise<Sent>]>([
    ['of a stateless client', stateless],
    ['of a session', inSession],
  ])('%s', (_, send) => {
    test.each<[number, string, string, object, object]>([
      [429, 'vault', 'too_many_requests', {}, { reason: 'quota' }],
      [413, 'echo', 'content_too_large', { text: 'x'.repeat(2_000) }, {}],
    ])('with status %i is reported once, with its error', async (status, name, kind, args, why) => {
      const caller = newCaller()
      if (status === 429) expect((await send(caller, name)).status).toBe(200)
      expect((await send(caller, name, args)).status).toBe(status)
      const { audited, observed } = await reportsOf(
        caller,
        (events, calls) => calls.length > 0 && events.some(({ outcome }) => outcome === 'refused'),
      )
      expect(audited.filter(({ outcome }) => outcome === 'refused')).toMatchObject([
        { status, reason: { kind, ...why }, targets: [{ method: 'tools/call', name }] },
      ])
      expect(observed).toMatchObject([{ name, outcome: { type: 'error', kind, code: -32600 } }])
    })
  })
})
