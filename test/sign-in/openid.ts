/** An OpenID provider whose user is signed in, and whose answers a test can change. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { newKey } from '../../examples/protected/auth-server/authorization-server.ts'
import { MemoryAdapter } from '../../examples/protected/auth-server/memory-adapter.ts'

type Json = Record<string, unknown>

export class OpenId implements AsyncDisposable {
  readonly issuer: string
  claims: Json = {
    sub: 'auth0|1815',
    name: 'Ada Lovelace',
    preferred_username: 'ada',
    email: 'ada@example.com',
    email_verified: true,
    org_id: 'engines',
    groups: ['authors'],
  }
  /** Changes the JSON of a path. */
  readonly changes = new Map<string, (body: Json) => Json>()
  /** Answers a path in another way. */
  readonly instead = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>()
  readonly asked: string[] = []
  /** Whether a page asks the user to sign in. */
  asks = false
  readonly #server = createServer()

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(): Promise<OpenId> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new OpenId(server)
  }

  /** @param redirectUri callback of the server that signs users in */
  async serve(redirectUri: string): Promise<void> {
    const provider: Provider = new Provider(this.issuer, {
      adapter: MemoryAdapter,
      jwks: { keys: [await newKey()] },
      cookies: { keys: [randomBytes(32).toString('hex')] },
      clients: [
        {
          client_id: 'edge',
          client_secret: 'hush',
          redirect_uris: [redirectUri],
          id_token_signed_response_alg: 'ES256',
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      claims: {
        openid: ['sub', 'org_id', 'groups'],
        profile: ['name', 'preferred_username'],
        email: ['email', 'email_verified'],
      },
      pkce: { required: () => true },
      findAccount: () => ({ accountId: String(this.claims.sub), claims: () => this.claims as { sub: string } }),
      features: { devInteractions: { enabled: false }, userinfo: { enabled: true } },
    })
    provider.use(async (ctx, next) => {
      if (ctx.path.startsWith('/interaction/')) {
        if (this.asks && ctx.method === 'GET') {
          ctx.type = 'html'
          ctx.body = '<!doctype html><h1>Sign in to the company</h1><form method="post"><button>Sign in</button></form>'
          return
        }
        const { params } = await provider.interactionDetails(ctx.req, ctx.res)
        const accountId = String(this.claims.sub)
        const grant = new provider.Grant({ accountId, clientId: String(params.client_id) })
        grant.addOIDCScope(String(params.scope))
        const result = { login: { accountId }, consent: { grantId: await grant.save() } }
        ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result))
        ctx.status = 303
        return
      }
      await next()
      const change = this.changes.get(ctx.path)
      if (change) ctx.body = change(ctx.body as Json)
    })
    const answer = provider.callback()
    this.#server.on('request', (request, response) => {
      const path = new URL(request.url ?? '', this.issuer).pathname
      this.asked.push(`${request.method} ${path.replace(/(?<=\/(?:auth|interaction))\/.*/, '/…')}`)
      const other = this.instead.get(path)
      if (other) return other(request, response)
      return answer(request, response)
    })
  }

  /** Changes the claims of ID tokens, and their header. */
  changeIdToken(claims: Json, header: Json = {}): void {
    this.changes.set('/token', (body) => {
      const [head = '', payload = '', signature] = String(body.id_token).split('.')
      const changed = (text: string, members: Json) =>
        Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(text, 'base64url').toString()), ...members })).toString(
          'base64url',
        )
      return { ...body, id_token: [changed(head, header), changed(payload, claims), signature].join('.') }
    })
  }

  /** Forgets all changes. */
  restore(): void {
    this.changes.clear()
    this.instead.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
