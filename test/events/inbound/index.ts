/** A server whose events come from the webhooks of other services. A token is the name of its user. */
import { env } from 'cloudflare:workers'
import { type Auth, createServer, serve } from 'edgemcp'
import { tenants } from 'edgemcp/auth'
import {
  type EventRecipients,
  event,
  events,
  eventsEntrypoint,
  fromWebhook,
  type InboundWebhook,
  type PublishOptions,
  type WebhookProvider,
} from 'edgemcp/events'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'inbound', version: '1.0.0' })
server.tool('greet', { description: 'Greets' }, () => 'Hello')

const happened = event('happened', { payloadSchema: z.object({ what: z.string().max(20) }) })

const issuer = 'https://idp.example'
const auth: Auth = {
  authenticate: async ({ headers }) => {
    const subject = headers.get('Authorization')?.slice('Bearer '.length)
    return subject === undefined ? undefined : { issuer, subject, scopes: [], claims: {} }
  },
  reauthorize: (principal) => principal,
}

const body = z.looseObject({
  user: z.string(),
  what: z.string(),
  times: z.number().default(1),
  keys: z.boolean().default(true),
})

async function on({ type, body: given, publish }: InboundWebhook): Promise<void> {
  if (type === 'failed') throw new Error('The database does not answer')
  if (type !== 'happened') return
  const { user, what, times, keys } = body.parse(given)
  for (let index = 0; index < times; index += 1) {
    // Nobody awaits it here: the webhook is answered after it.
    void publish(
      happened,
      { what: `${what} ${index}` },
      { user: { issuer, subject: user } },
      keys ? { key: `${index}` } : {},
    )
  }
}

const secrets = env as { STRIPE: string; GITHUB: string; STANDARD: string }
const secretOf = { stripe: secrets.STRIPE, github: secrets.GITHUB, 'standard-webhooks': secrets.STANDARD }
/** The next secret of each provider. */
const next = 'whsec_bmV4dC4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4uLi4='
const { PUBLISHER } = env as unknown as { PUBLISHER: Service<typeof McpEventPublisher> }
const webhook = (provider: WebhookProvider, secret: () => string | readonly string[] | undefined, path = '') =>
  fromWebhook(provider, { path: `/webhooks/${provider}${path}`, secret, on })

const providers = ['stripe', 'github', 'standard-webhooks'] as const
const worker = serve(server, {
  auth,
  limits: { maxBodyBytes: 100_000, bodyTimeoutMs: 500 },
  plugins: [
    sessions(),
    events([happened]),
    ...providers.flatMap((provider) => [
      webhook(provider, () => secretOf[provider]),
      webhook(provider, () => [next, secretOf[provider]], '/changing'),
      webhook(provider, () => [], '/none'),
      webhook(provider, () => ['', secretOf[provider]], '/partly-empty'),
      webhook(provider, () => undefined, '/unset'),
      webhook(provider, () => '', '/empty'),
      webhook(provider, () => ' ', '/blank'),
    ]),
    webhook('standard-webhooks', () => 'short', '/short'),
  ],
})

/** Each tenant has a host and a secret of its own. */
const shops = serve(server, {
  tenants: tenants('{tenant}.shop.example', () => ({})),
  plugins: [
    fromWebhook('github', {
      path: '/webhooks/github',
      secret: (tenant) => `secret of ${tenant}`,
      on({ tenant, body }) {
        if (body.tenant !== tenant) throw new Error(`This is ${tenant}`)
      },
    }),
  ],
})

export const { McpSession, McpEvents } = worker
/** Publishes for other Workers. This one is bound to itself. */
export const McpEventPublisher = eventsEntrypoint({ happened })
export default {
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { hostname, pathname } = new URL(request.url)
    if (hostname.endsWith('.shop.example')) return shops.fetch(request, env, ctx)
    if (pathname !== '/publish') return worker.fetch(request, env, ctx)
    const { payload, recipients, options } = (await request.json()) as {
      payload: { what: string }
      recipients: EventRecipients
      options: PublishOptions
    }
    try {
      return Response.json(await PUBLISHER.happened(payload, recipients, options))
    } catch (problem) {
      return new Response(String(problem), { status: 400 })
    }
  },
}
