import { env } from 'cloudflare:workers'
import { OAuthProvider } from '@cloudflare/workers-oauth-provider'
import * as Sentry from '@sentry/cloudflare'
import { createGuard, McpError, secret, serve } from 'edgemcp'
import { oauthProvider } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { analyticsEngineSink, consoleSink, observe } from 'edgemcp/observe'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import { authorize, type Props } from './authorize.ts'
import { server } from './server.ts'

const { ORIGIN, APP } = env
const policy = { origins: [APP], cors: { headers: ['cf-account-id'] } }

const worker = serve(server, {
  ...policy,
  // The API token stays out of the claims: interceptors and event sinks see claims.
  auth: oauthProvider<Props, { scope: string[]; clientId?: string }>(({ userId, accounts }, { scope, clientId }) => ({
    issuer: ORIGIN,
    subject: userId,
    client: clientId,
    scopes: scope,
    claims: { accounts },
  })),
  requestContext(request, { context }) {
    // OAuthProvider passes what the authorize page stored with the grant.
    const { accounts, apiToken } = context.props as Props
    const account = request.headers.get('cf-account-id') ?? accounts[0] ?? ''
    if (!accounts.includes(account)) throw new McpError('forbidden', `No access to the account "${account}"`)
    return { account, apiToken: secret(apiToken) }
  },
  // Models and clients read an error id, Sentry gets the error.
  handlerErrors: 'generic',
  onError(error, { method, params, principal, errorId }) {
    // A completion has a ref. A list has none of them.
    const entry = String(params.name ?? params.uri ?? JSON.stringify(params.ref) ?? method)
    Sentry.captureException(error, {
      tags: { method, entry, errorId },
      user: { id: principal?.subject ?? '' },
    })
  },
  plugins: [sessions(), subscriptions(), observe({ sinks: [consoleSink(), analyticsEngineSink(() => env.CALLS)] })],
})

const provider = new OAuthProvider({
  // A token for the origin is valid at all paths of the endpoint. One for /mcp would not be valid at /sse and /messages.
  resourceMetadata: { resource: ORIGIN, authorization_servers: [ORIGIN], resource_name: 'Projects' },
  requiredScopes: ['projects:read'],
  scopesSupported: ['projects:read', 'projects:write'],
  apiRoute: Object.values(worker.paths),
  apiHandler: { fetch: (request, env, ctx) => worker.fetch(request, env, ctx) },
  authorizeEndpoint: '/authorize',
  tokenEndpoint: '/oauth/token',
  clientRegistrationEndpoint: '/oauth/register',
  defaultHandler: {
    fetch(request, env) {
      const { pathname } = new URL(request.url)
      return pathname === '/authorize' ? authorize(request, env) : new Response('Not found', { status: 404 })
    },
  },
})

/** Rejects foreign pages, and answers preflights, before the provider does: it allows every page. */
const guard = createGuard(policy)

const guarded = {
  ...worker,
  async fetch(request: Request, env: Cloudflare.Env, ctx: ExecutionContext): Promise<Response> {
    const response = guard.reject(request) ?? guard.preflight(request)
    return response ?? guard.withCors(await provider.fetch(request, env, ctx), request)
  },
}

const sentry = () => ({ dsn: env.SENTRY_DSN })

// The paths of the server lead through the guard, all others to the provider.
export default Sentry.withSentry(
  sentry,
  combine(guarded, (request, _, ctx) => provider.fetch(request, env, ctx)),
)

// Calls of sessions run in the object, and `onError` with them.
export const McpSession = Sentry.instrumentDurableObjectWithSentry(sentry, worker.McpSession)
export const { McpSubscriptions } = worker
