/** What is attacked: something of every kind, behind scopes, that tells a test whenever it runs. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

/** `ISSUERS`: with commas. `EFFECTS`: a server that counts what is asked of it. */
const { ISSUERS, EFFECTS } = env as { ISSUERS: string; EFFECTS: string }

const ran = async (what: string) => {
  await fetch(`${EFFECTS}/ran/${what}`)
  return what
}

const server = createServer({ name: 'attacked', version: '1.0.0', pageSize: 2 })

server.tool('who', { description: 'Who asks', scopes: [] }, async (_, { principal }) => {
  await ran('who')
  return JSON.stringify([principal?.subject, principal?.client, principal?.tenant, principal?.scopes])
})
server.tool('read', { description: 'Reads', scopes: ['notes:read'] }, () => ran('read'))
server.tool('write', { description: 'Writes', scopes: ['notes:read', 'notes:write'] }, () => ran('write'))
server.tool('administer', { description: 'Administers', scopes: ['admin'] }, () => ran('administer'))
server.tool('ask', { description: 'Asks', scopes: ['notes:read'] }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  await ran('ask')
  return answer.action === 'accept' ? answer.content.word : answer.action
})

const diary = state<{ entry: string }>('diary', { per: 'user', ttl: 60_000 })
const basket = state('basket', { per: 'handle', ttl: 60_000 }, (store: Store<{ count: number }>) => ({
  add() {
    const count = (store.get('count') ?? 0) + 1
    store.put('count', count)
    return count
  },
}))
server.tool(
  'note_down',
  { description: 'Notes', scopes: [], inputSchema: z.object({ entry: z.string() }) },
  async ({ entry }, ctx) => {
    await ctx.state(diary).put('entry', entry)
    return 'noted'
  },
)
server.tool('look_up', { description: 'Looks', scopes: [] }, async (_, ctx) => {
  return (await ctx.state(diary).get('entry')) ?? 'nothing'
})
server.tool('new_basket', { description: 'A basket', scopes: [] }, (_, ctx) => ctx.createHandle(basket))
server.tool(
  'add',
  { description: 'Adds', scopes: [], inputSchema: z.object({ basket: z.string() }) },
  async (input, ctx) => `${await ctx.state(basket, input.basket).add()}`,
)

server.prompt(
  'secret',
  {
    description: 'Secret',
    scopes: ['prompts'],
    argsSchema: z.object({ name: z.string() }),
    complete: {
      name: async () => {
        await ran('complete')
        return ['ada']
      },
    },
  },
  async ({ name }) => `${await ran('prompt')} ${name}`,
)
server.prompt('second', { description: 'Second' }, () => 'second')
server.prompt('third', { description: 'Third' }, () => 'third')

server.resource('note://fixed', { description: 'A note', scopes: ['notes:read'] }, () => ran('fixed'))
const note = server.resource(
  'note://of/{id}',
  {
    description: 'Notes',
    scopes: ['notes:read'],
    list: () => [{ id: '1' }],
    complete: {
      id: async () => {
        await ran('complete')
        return ['1']
      },
    },
  },
  () => ran('template'),
)
server.resource('open://{id}', { description: 'For everybody' }, () => ran('open'))
server.tool('touch', { description: 'Touches', scopes: [] }, async () => {
  await note.updated({ id: '1' })
  await server.notify.toolsChanged()
  return 'touched'
})

server.tool('touch_tenant', { description: 'Touches for one tenant', scopes: [] }, async (_, { principal }) => {
  await server.notify.promptsChanged({ issuer: principal?.issuer ?? '', tenant: 'acme' })
  await server.notify.toolsChanged()
  return 'touched'
})

const issuer = ISSUERS.split(',')
const worker = serve(server, {
  origins: ['https://app.example.com'],
  limits: { maxBodyBytes: 30_000 },
  auth: bearer({
    issuer,
    tenantClaim: 'org_id',
    impliedScopes: { admin: ['notes:read', 'notes:write'], loop: ['noose'], noose: ['loop', 'notes:read'] },
  }),
  plugins: [sessions(), subscriptions()],
})

/** The same, known under one name whatever it is called by. */
const named = serve(server, {
  path: '/named/mcp',
  auth: bearer({ issuer, resource: 'https://mcp.example.com/named/mcp' }),
})

export default {
  fetch: (request: Request, bindings: unknown, ctx: ExecutionContext) =>
    (new URL(request.url).pathname.includes('/named/') ? named : worker).fetch(request, bindings, ctx),
}
export const { McpSession, McpSubscriptions } = worker
export { McpState } from 'edgemcp/state'
