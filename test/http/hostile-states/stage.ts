/** Servers with keys that are known here, calls that have been asked something, and a count of what came of them. */

import type { Journal } from '../../../worker/engine/journal.ts'
import type { Principal } from '../../../worker/protocol/principal.ts'
import { type KeyRing, type Sealer, sealer, sealerFor } from '../../../worker/sealing/seal.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { capabilitiesKey, envelope, type Params, versionKey } from '../hostile-row.ts'
import { Session } from './asked-call.ts'

/** One round of a call. What is left out is what Ada's client would send in the first round of `ask`. */
export type Round = {
  /** The server it is sent to. */
  to?: ServerName
  path?: string
  as?: Who
  method?: string
  name?: string
  uri?: string
  capabilities?: Params
  /** Everything else of `params`. */
  more?: Params
  /** Instead of `params` as JSON: their text. */
  text?: (params: string) => string
  headers?: Record<string, string>
}

type Who = 'ada' | 'bob' | 'nobody' | 'ada with another client'

/** What came back, and how far handlers have come meanwhile. */
export type Answer = { status: number; body: Params; begun: number; passed: number }

type Counts = { begun: number; passed: number }

const newKey = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
const [first, second, third, fourth] = [newKey(), newKey(), newKey(), newKey()]

const rings = {
  /** Seals with `new`, and still opens what was sealed with `old`. */
  main: { current: 'new', keys: { new: first, old: second } },
  /** Another server that happens to call its key the same. */
  foreign: { current: 'new', keys: { new: third } },
  /** The main one, a rotation later: `old` is out. */
  rotated: { current: 'newest', keys: { newest: fourth, new: first } },
} satisfies Record<string, KeyRing>

export type ServerName = keyof typeof rings

const secretOf = ({ keys }: KeyRing) =>
  Object.entries(keys)
    .map(([id, key]) => `${id}:${key}`)
    .join()

export const accepting = (content: unknown) => ({ action: 'accept', content })
export const honest = { word: accepting({ word: 'honest' }) }

const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** Who Ada is to the server. */
export const ada: Principal = { issuer: 'https://names.example', subject: 'ada', scopes: [], claims: {} }

/** A day, as the Worker gives a person. */
export const life = 24 * 60 * 60_000

export class Stage implements AsyncDisposable {
  readonly #servers: Record<ServerName, TestServer>

  private constructor(servers: Record<ServerName, TestServer>) {
    this.#servers = servers
  }

  static async open(): Promise<Stage> {
    const start = (name: ServerName) => startServer('test/http/hostile-states', { EDGEMCP_KEYS: secretOf(rings[name]) })
    return new Stage({ main: await start('main'), foreign: await start('foreign'), rotated: await start('rotated') })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of Object.values(this.#servers)) await server[Symbol.asyncDispose]()
  }

  url(path = '/mcp', to: ServerName = 'main'): URL {
    return new URL(path, this.#servers[to].url)
  }

  errors(): string[] {
    const logs = Object.values(this.#servers).flatMap(({ harness }) => harness.getLogs())
    return logs.filter(({ level }) => level === 'error').map(({ message }) => message)
  }

  /** Seals with keys of the main server. */
  seals(key: 'new' | 'old' = 'new', now: () => number = Date.now): Sealer {
    return sealerFor(sealer({ ...rings.main, current: key }, now), JSON.stringify(['states']))
  }

  async counts(to: ServerName = 'main'): Promise<Counts> {
    return (await fetch(this.url('/counts', to))).json() as Promise<Counts>
  }

  async send(round: Round): Promise<Answer> {
    const before = await this.counts(round.to)
    const response = await this.#post(round)
    const body = (await response.json()) as Params
    const { begun, passed } = await this.counts(round.to)
    return { status: response.status, body, begun: begun - before.begun, passed: passed - before.passed }
  }

  /** The same without counting. */
  async answerTo(round: Round): Promise<Params> {
    return (await (await this.#post(round)).json()) as Params
  }

  /** The state of a call that has asked. */
  async state(round: Round = {}): Promise<string> {
    const { requestState } = await this.result(round)
    if (typeof requestState !== 'string') throw new Error('It did not ask')
    return requestState
  }

  async result(round: Round): Promise<Params> {
    const body = await this.answerTo(round)
    if (!body.result) throw new Error(`No result: ${JSON.stringify(body)}`)
    return body.result as Params
  }

  async cursor(): Promise<string> {
    return (await this.result({ method: 'tools/list' })).nextCursor as string
  }

  session(options: { as?: string; version?: string } = {}): Promise<Session> {
    return Session.begin(this.url(), options)
  }

  async handle(): Promise<string> {
    const { content } = await this.result({ name: 'new_handle' })
    return (content as { text: string }[])[0]?.text as string
  }

  /** A state that was kept, because it is large, and is not any more. */
  async forgotten(name: string): Promise<string> {
    const state = await this.state({ name })
    const { kept } = (await this.carried(state, name)) as { kept: string }
    const { ok } = await fetch(this.url(`/forget?kept=${kept}`))
    if (!ok) throw new Error(`Nothing is forgotten of ${kept}`)
    return state
  }

  /** What a state of Ada carries. */
  async carried(state: string, name = 'ask'): Promise<{ journal: Journal; kept?: string; name?: string }> {
    return (await this.seals().open(await purposeOf('tools/call', name), ada, state)) as never
  }

  async #post({ to, path, as = 'ada', method = 'tools/call', name = 'ask', ...rest }: Round): Promise<Response> {
    const { uri, capabilities = everything, more, text = (params: string) => params, headers } = rest
    const named = method === 'resources/read' ? { uri } : method.endsWith('/list') ? {} : { name }
    const params = { ...named, _meta: envelope({ [capabilitiesKey]: capabilities }), ...more }
    const mirrored = Object.values(named)[0]
    const [subject, client] = as.split(' with ')
    return fetch(this.url(path, to), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': envelope()[versionKey] as string,
        'Mcp-Method': method,
        ...(mirrored !== undefined && { 'Mcp-Name': mirrored }),
        ...(subject !== 'nobody' && { Authorization: `Bearer ${subject}` }),
        ...(client && { 'X-Client': client }),
        ...headers,
      },
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${text(JSON.stringify(params))}}`,
    })
  }
}

/** What the Worker binds a state to: written out once more, so that a change there is seen here. */
export async function purposeOf(method: string, name: string, digested = `["${name}",null]`): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(digested))
  return `journal:${method}:${Buffer.from(digest).toString('base64')}`
}
