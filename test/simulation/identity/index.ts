/** The server whose users sign in and have API keys, in schedules of its own. */
import { createServer, type Plugin, serve } from 'edgemcp'
import { apiKeys } from 'edgemcp/api-keys'
import { oneOf } from 'edgemcp/auth'
import { oauth2, signIn } from 'edgemcp/sign-in'

const server = createServer({ name: 'identity', version: '1' })
server.tool('whoami', { description: 'Returns the user', scopes: ['read'] }, (_, { principal }) =>
  String(principal?.subject),
)
server.tool('mail', { description: 'Returns a token of the provider', scopes: ['read'] }, (_, ctx) =>
  ctx.upstream('company'),
)

const at = (path: string) => `https://provider.example${path}`
const company = oauth2({
  name: 'company',
  clientId: 'edge',
  clientSecret: 'secret',
  authorizationUrl: at('/authorize'),
  tokenUrl: at('/token'),
  revocationUrl: at('/revoke'),
  user: async (_, get) => ({ id: String(Object(await get(at('/user'))).id) }),
  fetch: (target, init) => fetch(target, init),
})
const users = signIn({ with: company, origin: 'http://localhost' })
const keys = apiKeys({ prefix: 'sim', maxPerOwner: 3 })

/** What an operator does: the name is the path. */
const acts: Readonly<Record<string, (params: Readonly<Record<string, string>>) => Promise<unknown>>> = {
  signOut: ({ user = '' }) => users.signOut(user),
}

const operator: Plugin = {
  name: 'operator',
  routes: () =>
    Object.entries(acts).map(([name, act]) => ({
      path: `/operator/${name}`,
      methods: ['POST'],
      async handle(request) {
        return Response.json({ result: await act((await request.json()) as Record<string, string>) })
      },
    })),
}

const worker = serve(server, { auth: oneOf(users, keys), plugins: [operator] })
export default worker
export const { McpSession, McpSignIn, McpApiKeys } = worker
