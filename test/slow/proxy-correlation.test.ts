/**
 * Calls of several callers through proxy() to an upstream that answers in random order, as JSON and on streams, with responses that
 * have wrong, foreign, repeated or no ids, and that forgets sessions. No caller gets an answer that is not its own.
 */
import { expect } from 'vitest'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import { nodeProxy } from '../compose/node-proxy.ts'
import { newServer, result, textOf } from '../engine/stage.ts'
import type { Chance } from '../support/random.ts'
import { property } from './cases.ts'

const waves = 5
const callsPerWave = 100
const callsPerCase = waves * callsPerWave
type Id = string | number | null
type Incoming = { readonly id?: Id; readonly method?: string; readonly params: { arguments?: { who: string } } }
type Pending = { readonly incoming: Incoming; readonly isRight: boolean; readonly answer: (response: Response) => void }

const secret = (who: string) => `the secret of ${who}`
const response = (id: Id | undefined, who: string) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text: secret(who) }] },
})

class Upstream {
  /** How often each id was used for a request. */
  readonly ids = new Map<Id, number>()
  /** Callers of each session, by the header that says who they are. */
  readonly callers = new Map<string, Set<string>>()
  /** Callers that got an answer with their own id, whatever came with it. */
  readonly answered = new Set<string>()
  ended = 0
  readonly #random: Chance
  readonly #isStateless: boolean
  readonly #sessions = new Set<string>()
  #pending: Pending[] = []
  #served: string[] = ['a stranger']

  constructor(random: Chance, isStateless: boolean) {
    this.#random = random
    this.#isStateless = isStateless
  }

  readonly fetch = async (_: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    const session = headers.get('Mcp-Session-Id')
    if (init.method === 'DELETE') {
      this.ended += Number(this.#sessions.delete(session ?? ''))
      return new Response(null, { status: 200 })
    }
    // It resumes no streams.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    const incoming = JSON.parse(String(init.body)) as Incoming
    // A notification, or a response to one of its pings.
    if (incoming.id === undefined || incoming.method === undefined) return new Response(null, { status: 202 })
    this.ids.set(incoming.id, (this.ids.get(incoming.id) ?? 0) + 1)
    if (incoming.method === 'server/discover') return this.#discover(incoming)
    if (incoming.method === 'initialize') return this.#initialize(incoming)
    if (!this.#isStateless) {
      const refused = this.#checkSession(session ?? '', headers.get('X-Name') ?? '')
      if (refused) return refused
    }
    const { promise, resolve } = Promise.withResolvers<Response>()
    if (this.#pending.length === 0) setImmediate(() => this.#answerSome())
    this.#pending.push({ incoming, isRight: this.#random.often(0.6), answer: resolve })
    return promise
  }

  #discover({ id }: Incoming): Response {
    if (!this.#isStateless) return Response.json({ jsonrpc: '2.0', id: null, error: refusal }, { status: 400 })
    return Response.json({
      jsonrpc: '2.0',
      id,
      result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    })
  }

  #initialize({ id }: Incoming): Response {
    const session = `session-${this.#random.below(2 ** 31)}-${this.#sessions.size}`
    this.#sessions.add(session)
    const made = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
    return Response.json({ jsonrpc: '2.0', id, result: made }, { headers: { 'Mcp-Session-Id': session } })
  }

  #checkSession(session: string, caller: string): Response | undefined {
    // It restarts now and then.
    if (this.#random.rarely(2000)) this.#sessions.clear()
    if (this.#sessions.has(session)) {
      this.callers.set(session, (this.callers.get(session) ?? new Set()).add(caller))
      return undefined
    }
    const status = this.#random.one([400, 404])
    return Response.json({ jsonrpc: '2.0', id: this.#random.one([null, 'server-error']), error: refusal }, { status })
  }

  /** Answers some of those that wait, in random order, and goes on until nobody waits. */
  #answerSome(): void {
    const waiting = this.#random.shuffled(this.#pending)
    const count = 1 + this.#random.below(waiting.length)
    this.#pending = waiting.slice(count)
    for (const pending of waiting.slice(0, count)) pending.answer(this.#responseTo(pending, waiting))
    if (this.#pending.length > 0) setImmediate(() => this.#answerSome())
  }

  #responseTo({ incoming: { id, params }, isRight }: Pending, waiting: readonly Pending[]): Response {
    const random = this.#random
    const who = params.arguments?.who ?? ''
    const other = random.one(waiting).incoming
    const stranger = () => random.one(this.#served)
    const right = response(id, who)
    const wrong = () =>
      random.one([
        other.id === id ? response('1', stranger()) : response(other.id, other.params.arguments?.who ?? ''),
        response(`${id}0`, stranger()),
        response(1, stranger()),
        response(null, stranger()),
        response(undefined, stranger()),
        { jsonrpc: '2.0', id: 1, error: { code: -32602, message: secret(stranger()), data: secret(stranger()) } },
        { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: secret(stranger()) } },
        { jsonrpc: '2.0', id, method: 'ping', params: { text: secret(stranger()) } },
      ])
    if (isRight) this.answered.add(who)
    this.#served = [...this.#served.slice(-50), who]
    const before = random.some(isRight ? 0 : 1, 3, wrong)
    if (random.often(0.5)) {
      // One body: a message, or a batch of them.
      const one = random.often(0.7)
      return Response.json(one ? (isRight ? right : before[0]) : [...before, ...(isRight ? [right] : [])])
    }
    const after = random.some(0, 2, () => random.one([wrong(), isRight ? response(id, stranger()) : wrong()]))
    const messages = [...before, ...(isRight ? [right] : []), ...after]
    const text = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('')
    return new Response(this.#inPieces(text), { headers: { 'Content-Type': 'text/event-stream' } })
  }

  #inPieces(text: string): ReadableStream<Uint8Array> {
    const bytes = new TextEncoder().encode(text)
    let at = 0
    return new ReadableStream({
      pull: (controller) => {
        const end = Math.min(bytes.length, at + 1 + this.#random.below(200))
        controller.enqueue(bytes.slice(at, end))
        at = end
        if (at === bytes.length) controller.close()
      },
    })
  }
}

const refusal = { code: -32000, message: 'No valid session' }

/** Some differ in one member only: each is another principal. */
const callers: readonly (Principal | undefined)[] = [
  ...['ada', 'bob', 'cy'].map((subject) => ({ issuer: 'https://a.example', subject, scopes: [], claims: {} })),
  { issuer: 'https://b.example', subject: 'ada', scopes: [], claims: {} },
  { issuer: 'https://a.example', subject: 'ada', tenant: 'acme', scopes: [], claims: {} },
  { issuer: 'https://a.example', subject: 'ada', client: 'app', scopes: [], claims: {} },
  undefined,
]
const nameOf = (principal: Principal | undefined) => `caller ${callers.indexOf(principal)}`

property(
  `each of ${callsPerCase} calls, ${callsPerWave} concurrent, gets its own result or an error`,
  24,
  async (random) => {
    const isStateless = random.often(0.5)
    const isShared = random.often(0.3)
    const upstream = new Upstream(random, isStateless)
    const options = {
      headers: ({ principal }: { principal: Principal | undefined }) => ({ 'X-Name': nameOf(principal) }),
    }
    const server = newServer().use(
      nodeProxy('https://upstream.example/mcp', upstream.fetch, { ...options, sharedSessions: isShared }),
    )

    let anonymous = 0
    const call = async () => {
      const principal = random.one(callers)
      if (!principal) anonymous += 1
      const who = `${nameOf(principal)}, call ${crypto.randomUUID()}`
      const params = { name: 'secret_of', arguments: { who } }
      const outcome = await result(server, 'tools/call', params, principal && { principal }).catch((thrown) => thrown)
      return { who, outcome }
    }
    // Calls of a later wave find sessions that others have begun.
    const outcomes: Awaited<ReturnType<typeof call>>[] = []
    for (let wave = 0; wave < waves; wave += 1) {
      outcomes.push(...(await Promise.all(Array.from({ length: callsPerWave }, call))))
    }

    for (const { who, outcome } of outcomes) {
      if (outcome instanceof McpError) {
        expect(JSON.stringify([outcome.message, outcome.data])).not.toContain('secret')
        // An error is for those whose answer never came, or whose session was forgotten twice.
        if (upstream.answered.has(who)) throw outcome
      } else {
        expect(textOf(outcome)).toBe(secret(who))
      }
    }
    expect(upstream.answered.size).toBeGreaterThan(callsPerCase / 4)
    expect([...upstream.ids.values()].filter((times) => times > 1)).toEqual([])
    const together = [...upstream.callers.values()].filter((of) => of.size > 1)
    expect(together).toEqual([])
    // Callers with a principal go on in the session that they have.
    if (!isStateless) expect(upstream.callers.size).toBeLessThan(callsPerCase / 2)
    // Sessions of anonymous calls end with the call, unless the upstream has forgotten them.
    if (!isStateless && !isShared && anonymous > 20) expect(upstream.ended).toBeGreaterThan(0)
  },
)
