/**
 * An authorization server for this machine, with everything that MCP asks of one: metadata, dynamic registration, client
 * metadata documents, PKCE, resource indicators, refresh tokens. It believes whatever name it is told and keeps nothing.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { errors, type InteractionResults, Provider } from 'oidc-provider'
import { consentPage } from './consent-page.ts'
import { MemoryAdapter } from './memory-adapter.ts'

const scopes = ['notes:read', 'notes:write']

export type AuthorizationServerOptions = {
  /** Default: one that is free. */
  port?: number
  /** Who is signed in and agrees to everything, without a page. Left out, a page asks. */
  autoApprove?: string
  /** The server that a token is for when the client, an old one, does not say. */
  resource?: () => string
  /** Seconds for which an access token is good. Default ten minutes. */
  lifetime?: number
  /** The private key that tokens are signed with, with its `alg`. Default: a new one. */
  key?: JWK
  /** Reaches the metadata documents of clients. */
  fetch?: typeof fetch
}

export type AuthorizationServer = { readonly issuer: string; readonly provider: Provider } & AsyncDisposable

export async function startAuthorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const server = createServer()
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const issuer = `http://127.0.0.1:${port}`
  const provider = await newProvider(issuer, options)
  server.on('request', provider.callback())
  return {
    issuer,
    provider,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: randomBytes(8).toString('hex') }
}

async function newProvider(
  issuer: string,
  { autoApprove, resource, lifetime = 600, key, fetch }: AuthorizationServerOptions,
): Promise<Provider> {
  const provider: Provider = new Provider(issuer, {
    adapter: MemoryAdapter,
    jwks: { keys: [key ?? (await newKey())] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    ...(fetch && { fetch: fetch as never }),
    scopes,
    responseTypes: ['code'],
    clientDefaults: { id_token_signed_response_alg: 'ES256', token_endpoint_auth_method: 'none' },
    // Clients register for the scopes they begin with, and may want more later; it is people who decide.
    extraClientMetadata: {
      properties: ['any_scope'],
      validator(_, __, ___, metadata) {
        metadata.scope = scopes.join(' ')
      },
    },
    pkce: { required: () => true },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    // Pages may redeem codes that they are sent.
    clientBasedCORS: (_, origin, client) =>
      client.redirectUris?.some((uri) => URL.parse(uri)?.origin === origin) ?? false,
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    ttl: {
      AccessToken: lifetime,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 3_600,
      RefreshToken: 86_400,
      IdToken: 600,
    },
    features: {
      registration: { enabled: true, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        defaultResource: async (_, __, oneOf) => oneOf ?? resource?.() ?? [],
        getResourceServerInfo(_, indicator) {
          if (!isOnThisMachine(indicator)) throw new errors.InvalidTarget()
          return {
            scope: scopes.join(' '),
            audience: indicator,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'ES256' } },
          }
        },
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
  })

  provider.use(async (ctx, next) => {
    if (ctx.path === '/reg') {
      // Of all endpoints that pages need, the only one that oidc-provider keeps from them.
      ctx.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': 'Content-Type' })
      if (ctx.method === 'OPTIONS') {
        ctx.status = 204
        return
      }
    }
    // Nor do old clients say what they want.
    if (ctx.path === '/auth' && !ctx.query.scope) ctx.query = { ...ctx.query, scope: 'notes:read' }
    if (!ctx.path.startsWith('/interaction/')) return next()
    const details = await provider.interactionDetails(ctx.req, ctx.res)
    if (autoApprove === undefined && ctx.method === 'GET') {
      const client = await provider.Client.find(String(details.params.client_id))
      ctx.type = 'html'
      ctx.body = consentPage({
        client: client?.clientName ?? String(details.params.client_id),
        redirect: String(details.params.redirect_uri),
        scopes: String(details.params.scope ?? '').split(' '),
        person: details.session?.accountId,
      })
      return
    }
    const form = new URLSearchParams(
      autoApprove === undefined ? await text(ctx.req) : { person: autoApprove, answer: 'yes' },
    )
    ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, await decided(details, form)))
    ctx.status = 303
  })

  return provider

  type Details = Awaited<ReturnType<Provider['interactionDetails']>>

  async function decided({ params, session, grantId }: Details, form: URLSearchParams): Promise<InteractionResults> {
    if (form.get('answer') !== 'yes') return { error: 'access_denied', error_description: 'The answer was no' }
    const accountId = session?.accountId ?? (form.get('person') || 'somebody')
    const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
    const grant = known ?? new provider.Grant({ accountId, clientId: String(params.client_id) })
    const wanted = String(params.scope ?? '')
    grant.addOIDCScope(wanted)
    for (const resource of [params.resource ?? []].flat()) grant.addResourceScope(String(resource), wanted)
    return { login: { accountId }, consent: { grantId: await grant.save() } }
  }
}

const isOnThisMachine = (url: string) => /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(URL.parse(url)?.hostname ?? '')
