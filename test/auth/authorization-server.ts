/** An authorization server that a test holds in its hands: it publishes keys, signs tokens, and can misbehave. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export type Key = { kid: string; alg: string; publicJwk: JWK; privateKey: CryptoKey }

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

export class AuthorizationServer implements AsyncDisposable {
  readonly issuer: string
  /** What is published. */
  keys: Key[] = []
  /** What opaque tokens stand for. */
  readonly opaque = new Map<string, JWTPayload>()
  /** Who may ask about opaque tokens. */
  resourceServer = { clientId: 'mcp', clientSecret: 'secret' }
  /** How often each path was asked for. */
  readonly asked = new Map<string, number>()
  /** Answers a path in another way. */
  readonly instead = new Map<string, Answer>()
  readonly #server: ReturnType<typeof createServer>

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url ?? ''
      this.asked.set(path, (this.asked.get(path) ?? 0) + 1)
      const answer = this.instead.get(path) ?? this.#answers[path]
      if (answer) answer(request, response)
      else response.writeHead(404).end()
    })
  }

  static async start(): Promise<AuthorizationServer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const started = new AuthorizationServer(server)
    started.keys = [await newKey('ES256')]
    return started
  }

  get #answers(): Record<string, Answer> {
    return {
      '/.well-known/oauth-authorization-server': (_, response) => json(response, this.metadata),
      '/jwks': (_, response) => json(response, { keys: this.keys.map(({ publicJwk }) => publicJwk) }),
      '/introspect': (request, response) => this.introspect(request, response),
    }
  }

  get metadata() {
    const { issuer } = this
    return {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
    }
  }

  /** @see https://www.rfc-editor.org/rfc/rfc7662 */
  async introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clientId, clientSecret } = this.resourceServer
    const [, basic = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? []
    // Each half is form encoded: RFC 6749, section 2.3.1.
    const [id, secret] = Buffer.from(basic, 'base64').toString('latin1').split(':').map(formDecoded)
    const form = new URLSearchParams(await text(request))
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
    if (id !== clientId || secret !== clientSecret) json(response, { error: 'invalid_client' }, 401)
    else if (request.method !== 'POST' || !isForm) json(response, { error: 'invalid_request' }, 400)
    else {
      const claims = this.opaque.get(form.get('token') ?? '')
      json(response, claims ? { active: true, ...claims } : { active: false })
    }
  }

  /** An opaque token with these claims. */
  opaqueToken(claims: JWTPayload = {}, token: string = crypto.randomUUID()): string {
    this.opaque.set(token, { sub: 'ada', client_id: 'client', ...claims })
    return token
  }

  /** An access token that is good for an audience, but for what is said otherwise. `undefined` leaves a claim out. */
  async token(
    audience: string,
    claims: JWTPayload = {},
    { key = this.keys[0] as Key, header = {} as object } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const payload = {
      iss: this.issuer,
      aud: audience,
      sub: 'ada',
      client_id: 'client',
      iat: now,
      exp: now + 600,
      ...claims,
    }
    return new SignJWT(JSON.parse(JSON.stringify(payload)))
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
      .sign(key.privateKey)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export async function newKey(alg: string, kid: string = crypto.randomUUID()): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, privateKey }
}

const formDecoded = (value: string): string => new URLSearchParams(`value=${value}`).get('value') as string

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
