import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'

const server = createServer({
  name: '{{name}}',
  version: '1.0.0',
  instructions: 'The shopping list of your organization.',
})

/** The list of an organization: who added each item. */
const list = state('list', { per: 'tenant', ttl: 365 * 24 * 60 * 60_000 }, (store: Store<Record<string, string>>) => ({
  add(item: string, user: string) {
    store.put(item, user)
  },
  items: () => store.entries(),
}))

server.tool(
  'add_item',
  {
    description: 'Adds an item to the list of your organization',
    inputSchema: z.object({ item: z.string().min(1).max(200) }),
    scopes: ['list:write'],
    annotations: { idempotentHint: true },
  },
  async ({ item }, ctx) => {
    await ctx.state(list).add(item, String(ctx.principal?.claims.preferred_username))
    return `${ctx.principal?.tenant} needs ${item}.`
  },
)

server.tool(
  'list_items',
  {
    description: 'Lists what your organization needs',
    scopes: ['list:read'],
    annotations: { readOnlyHint: true },
  },
  async (_, ctx) => {
    const items = await ctx.state(list).items()
    return items.map(([item, user]) => `${item} (${user})`).join('\n') || 'The list is empty.'
  },
)

const worker = serve(server, {
  handlerErrors: 'generic',
  auth: signIn({
    with: github({
      clientId: env.GITHUB_ID,
      clientSecret: env.GITHUB_SECRET,
      organizations: env.ORGANIZATIONS.split(' '),
      url: env.GITHUB_URL,
    }),
    // A member of several organizations chooses one at the sign-in.
    tenant: ({ groups }) => groups,
    requireTenant: true,
  }),
  // Web pages that may call this server from a browser, such as 'https://app.example.com'.
  origins: [],
  plugins: [sessions()],
})
export default worker
export const { McpSession, McpSignIn } = worker
export { McpState } from 'edgemcp/state'
