/** The server whose users sign in and have API keys, in schedules of its own. */
import { createServer, type Plugin, serve, ToolError } from 'edgemcp'
import { type ApiKeyOwner, apiKeys } from 'edgemcp/api-keys'
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

type Params = {
  readonly user: string
  readonly owner: ApiKeyOwner
  readonly id: string
  readonly expiresIn: number
  readonly grace: number
}

/** What an operator does: the name is the path. */
const acts: Readonly<Record<string, (params: Params) => Promise<unknown>>> = {
  signOut: ({ user }) => users.signOut(user),
  createKey: ({ owner, expiresIn }) => keys.create(owner, { scopes: ['read'], expiresIn }),
  rotateKey: ({ owner, id, grace }) => keys.rotate(owner, id, { grace }),
  revokeKey: ({ owner, id }) => keys.revoke(owner, id),
  listKeys: ({ owner }) => keys.list(owner),
}

const operator: Plugin = {
  name: 'operator',
  routes: () =>
    Object.entries(acts).map(([name, act]) => ({
      path: `/operator/${name}`,
      methods: ['POST'],
      async handle(request) {
        try {
          return Response.json({ result: await act(await request.json<Params>()) })
        } catch (problem) {
          if (problem instanceof ToolError) return Response.json({ refused: problem.message })
          throw problem
        }
      },
    })),
}

const worker = serve(server, { auth: oneOf(users, keys), plugins: [operator] })
export default worker
export const { McpSession, McpSignIn, McpApiKeys } = worker
