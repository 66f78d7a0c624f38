/** Notes of several tenants, on four servers with objects of their own: what happens on one is not heard on another. */
import { createServer, McpError, type Principal, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

/** Who vouches for people, where no other issuer does. */
const names = 'https://names.example'

type Announcement = { list?: 'tools' | 'prompts' | 'resources'; uri?: string; issuer?: string; tenant?: string }

const lanes = [0, 1, 2, 3].map((lane) => {
  const server = createServer({ name: 'tenants', version: '1.0.0' })
  server.tool('tool', { description: 'A tool' }, () => '')
  server.prompt('prompt', { description: 'A prompt' }, () => '')
  const note = server.resource('note://{seed}/{id}', { description: 'For everybody' }, () => '')
  server.resource(
    'diary://{seed}/{id}',
    {
      description: 'For those who are called Ada',
      visibleTo: ({ principal }) => principal?.subject.startsWith('ada') === true,
    },
    () => '',
  )
  server.resource(
    'ledger://{seed}/{id}',
    {
      description: 'For those who work for Acme',
      visibleTo: async ({ principal }) => principal?.tenant?.startsWith('acme') === true,
    },
    () => '',
  )
  server.resource(
    'board://bob',
    {
      description: 'For those who are called Bob',
      visibleTo: ({ principal }) => principal?.subject.startsWith('bob') === true,
    },
    () => '',
  )
  // What serves a URI decides who may read it, also when another template would match it.
  server.resource(
    'memo://{seed}/secret',
    {
      description: 'For those who are called Ada',
      visibleTo: ({ principal }) => principal?.subject.startsWith('ada') === true,
    },
    () => '',
  )
  server.resource('memo://{seed}/{id}', { description: 'For everybody' }, () => '')
  server.resource(
    'letter://{seed}/{to}',
    {
      description: 'For whom it is addressed to',
      authorize: ({ principal }, { to }) => principal?.subject.startsWith(to) === true,
    },
    () => '',
  )

  const worker = serve(server, {
    path: `/${lane}/mcp`, // Who has left is noticed by writing to them. A slow machine must not turn a JSON response into an event stream.
    limits: { keepAliveMs: 50, streamAfterMs: 600_000 },
    auth: {
      async authenticate(request): Promise<Principal> {
        const [, token] = /^Bearer (\S+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
        if (!token) throw new McpError('unauthorized', 'Say who you are')
        const { issuer = names, subject, tenant } = JSON.parse(atob(token))
        return { issuer, subject, tenant, scopes: [], claims: {} }
      },
    },
    plugins: [sessions(), subscriptions({ shards: 3 })],
    durableObjects: { names: { McpSession: `Session${lane}`, McpSubscriptions: `Subscriptions${lane}` } },
  })

  const announce = ({ list, uri, issuer = names, tenant }: Announcement): Promise<void> => {
    const scope = tenant === undefined ? {} : { issuer, tenant }
    if (list) return server.notify[`${list}Changed`](scope)
    const [, seed, id] = /^note:\/\/(.*)\/(.*)$/.exec(uri ?? '') ?? []
    return seed && id ? note.updated({ seed, id }, scope) : server.notify.resourceUpdated(uri ?? '', scope)
  }
  return { worker, announce }
})

export const [Session0, Session1, Session2, Session3] = lanes.map(({ worker }) => worker.McpSession)
export const [Subscriptions0, Subscriptions1, Subscriptions2, Subscriptions3] = lanes.map(
  ({ worker }) => worker.McpSubscriptions,
)

export default {
  /** `POST /<lane>/announce` says what has changed, all at once; everything else is one of the servers. */
  async fetch(request, env, ctx) {
    const [, lane = '', what] = new URL(request.url).pathname.split('/')
    const { worker, announce } = lanes[Number(lane)] as (typeof lanes)[number]
    if (what !== 'announce') return worker.fetch(request, env, ctx)
    await Promise.all((await request.json<Announcement[]>()).map(announce))
    return new Response(null, { status: 204 })
  },
} satisfies ExportedHandler
