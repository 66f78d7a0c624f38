/** An app that is registered at the server with sign-in, and asserts what it has a right to expect. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { ConnectionLost, url } from '../client-world.ts'
import type { World } from '../world.ts'
import { SimulatedBrowser } from './browser.ts'
import { StatelessClient } from './stateless-client.ts'
import { unlessLost } from './unless-lost.ts'

export const origin = new URL(url).origin
const redirectUri = 'http://127.0.0.1:9/callback'

/** `until`, and when the user has allowed the app: milliseconds since 1970. */
export type Tokens = {
  readonly access: string
  readonly refresh: string
  readonly until: number
  readonly allowedAt: number
}

/** `at`: when its head came, in milliseconds since 1970. */
export type Answer = { readonly status: number; readonly text: string; readonly at: number }

/** Sends a form or JSON. Returns `undefined` for a lost answer. */
export function post(world: World, path: string, body: URLSearchParams | object): Promise<Answer | undefined> {
  const isForm = body instanceof URLSearchParams
  const headers = { 'Content-Type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }
  return unlessLost(async () => {
    const init = { method: 'POST', headers, body: isForm ? String(body) : JSON.stringify(body) }
    const response = await world.request(origin + path, init)
    const at = world.now()
    return { status: response.status, text: await response.body.text(), at }
  })
}

/** Repeats what was not answered. A fault may be the cause of an error of the server. */
export async function untilAnswered(world: World, send: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await send()
    if (answer && answer.status < 500) return answer
    if (answer) world.serverErrors.push(answer.text.slice(0, 200))
    assert.ok(attempt < 60, `the server does not come back: ${answer?.text}`)
    await world.sleep(1000)
  }
}

/** What an operator does. */
export async function operate(world: World, act: string, params: object): Promise<unknown> {
  const { status, text } = await untilAnswered(world, () => post(world, `/operator/${act}`, params))
  assert.equal(status, 200, `${act}: ${text}`)
  return JSON.parse(text).result
}

/** Calls a tool with a token or key. Returns its text; `undefined` if the token is not accepted. */
export async function callWith(world: World, token: string, tool: string): Promise<string | undefined> {
  const client = new StatelessClient(world, token)
  for (let attempt = 0; ; attempt += 1) {
    const { result, error } = await client.ask('tools/call', { name: tool, arguments: {} })
    const text = String(Object(result).content?.[0]?.text)
    if (error?.message.includes('token') || error?.message.includes('key')) return undefined
    if (result && !text.includes('Network connection lost')) return text
    assert.ok(attempt < 20, `${tool}: ${JSON.stringify(result ?? error)}`)
    world.serverErrors.push(`${tool}: ${JSON.stringify(result ?? error)}`)
    await world.sleep(1000)
  }
}

export class App {
  readonly #world: World
  readonly #id: string

  private constructor(world: World, id: string) {
    this.#world = world
    this.#id = id
  }

  static async register(world: World): Promise<App> {
    const metadata = {
      client_name: 'App',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }
    const { status, text } = await untilAnswered(world, () => post(world, '/oauth/register', metadata))
    assert.equal(status, 201, text)
    return new App(world, JSON.parse(text).client_id)
  }

  /** Signs the user in. A sign-in that a fault has interrupted starts again. */
  async signIn(user: string): Promise<Tokens> {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const tokens = await this.trySignIn(user)
      if (tokens) return tokens
      // A request whose connection was lost goes on for half a minute, and its sign-in would end the access of the next one.
      await this.#world.sleep(45_000)
    }
    throw new Error('The user cannot sign in')
  }

  /** Signs the user in, and exchanges the code: once, or twice at the same time. Returns `undefined` if either was interrupted. */
  async trySignIn(user: string): Promise<Tokens | undefined> {
    const verifier = this.#world.random.uuid() + this.#world.random.uuid()
    const browser = new SimulatedBrowser(this.#world, user)
    const code = await this.#code(browser, verifier)
    const tokens = code === undefined ? undefined : await this.#exchange(code, verifier)
    return tokens && { ...tokens, allowedAt: browser.allowedAt }
  }

  async #code(browser: SimulatedBrowser, verifier: string): Promise<string | undefined> {
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const params = {
      response_type: 'code',
      client_id: this.#id,
      redirect_uri: redirectUri,
      state: 'state',
      scope: 'read',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }
    try {
      const back = await browser.authorize(new URL(`${origin}/authorize?${new URLSearchParams(params)}`), {})
      const code = back.get('code')
      // Access that is ended while the user signs in.
      if (back.get('error') === 'server_error') this.#world.serverErrors.push(String(back))
      return code ?? undefined
    } catch (problem) {
      if (problem instanceof ConnectionLost) return undefined
      this.#world.serverErrors.push(String(problem))
      return undefined
    }
  }

  /** Returns `undefined` for a code whose answer was lost, or that was sent twice. */
  async #exchange(code: string, verifier: string): Promise<Tokens | undefined> {
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      client_id: this.#id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    })
    const sent = Array.from({ length: this.#world.random.chance(0.15) ? 2 : 1 }, () =>
      post(this.#world, '/oauth/token', form),
    )
    const answers = (await Promise.all(sent)).filter((answer) => answer !== undefined)
    for (const { status, text } of answers) if (status >= 500) this.#world.serverErrors.push(text.slice(0, 200))
    const issued = answers.filter(({ status }) => status === 200)
    assert.ok(issued.length <= 1, 'a code was exchanged twice')
    const [tokens] = issued.map((answer) => this.#tokensOf(answer, 0))
    if (sent.length === 1) return tokens
    // The code was copied: OAuth 2.1, section 4.1.3.
    if (tokens && answers.some(({ status }) => status === 400)) {
      const { status } = await this.refresh(tokens.refresh)
      assert.equal(status, 400, 'the grant of a code that was sent twice goes on')
    }
    return undefined
  }

  /** Sends a refresh until it is answered. */
  refresh(token: string): Promise<Answer> {
    const form = { grant_type: 'refresh_token', refresh_token: token, client_id: this.#id }
    return untilAnswered(this.#world, () => post(this.#world, '/oauth/token', new URLSearchParams(form)))
  }

  /** Refreshes once. Returns `undefined` if the app is refused. */
  async tryRefresh({ refresh, allowedAt }: Tokens): Promise<Tokens | undefined> {
    const answer = await this.refresh(refresh)
    return answer.status === 200 ? this.#tokensOf(answer, allowedAt) : undefined
  }

  /** Refreshes, by several parts of the app at the same time, some of which lose the answer. All get the same tokens. */
  async refreshed({ refresh, allowedAt }: Tokens): Promise<Tokens> {
    const { random, jumpedSeconds } = this.#world
    const parts = random.pick([1, 1, 2, 3])
    const started = this.#world.now()
    const answers = await Promise.all(Array.from({ length: parts }, () => this.refresh(refresh)))
    if (random.chance(0.3)) answers.push(await this.refresh(refresh))
    for (const { status, text } of answers) assert.equal(status, 200, `an honest app was refused: ${text}`)
    const all = answers.map((answer) => this.#tokensOf(answer, allowedAt))
    const [tokens] = all
    assert.ok(tokens)
    const isQuick = this.#world.now() - started < 240_000 && this.#world.jumpedSeconds === jumpedSeconds
    const isSame = all.every(({ access, refresh: next }) => access === tokens.access && next === tokens.refresh)
    if (isSame) return tokens
    assert.ok(!isQuick, 'one refresh token has two successors')
    // The last answer has the tokens that are valid.
    return this.#tokensOf(await this.refresh(refresh), allowedAt)
  }

  #tokensOf({ text, at }: Answer, allowedAt: number): Tokens {
    const { access_token: access, refresh_token: refresh, expires_in: seconds } = JSON.parse(text)
    return { access, refresh, until: at + seconds * 1000, allowedAt }
  }
}
