import { env } from 'cloudflare:workers'
import { type Context, createServer, serve, ToolError } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import * as z from 'zod'

const { GITHUB_URL, GITHUB_API, GITHUB_ID, GITHUB_SECRET } = env as unknown as Record<string, string>

const server = createServer({ name: 'github', title: 'GitHub', version: '1.0.0' })

/** Calls the API of GitHub as the user of the call. */
async function api(ctx: Context, path: string, init: RequestInit = {}, scopes: string[] = []): Promise<unknown> {
  const token = await ctx.upstream('github', { scopes })
  const response = await fetch(`${GITHUB_API}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${token}`, Accept: 'application/vnd.github+json', 'User-Agent': 'edgemcp' },
    signal: ctx.signal,
  })
  if (!response.ok) throw new ToolError(`GitHub answered with status ${response.status}`)
  return response.json()
}

server.tool('whoami', { description: 'Returns the user at GitHub', scopes: ['github:read'] }, (_, { principal }) => {
  const claims = principal?.claims
  return `${claims?.name} (${claims?.preferred_username})`
})

server.tool(
  'list_repositories',
  { description: 'Lists the repositories of the user', scopes: ['github:read'], annotations: { readOnlyHint: true } },
  async (_, ctx) => {
    const repositories = (await api(ctx, '/user/repos?sort=pushed&per_page=20')) as { full_name: string }[]
    return repositories.map((repository) => repository.full_name).join('\n')
  },
)

server.tool(
  'create_issue',
  {
    description: 'Creates an issue in a repository',
    inputSchema: z.object({ repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/), title: z.string() }),
    scopes: ['github:read', 'github:write'],
    listWithoutScopes: true,
  },
  async ({ repository, title }, ctx) => {
    const init = { method: 'POST', body: JSON.stringify({ title }) }
    // GitHub asks the user for this scope when it is needed first.
    const issue = (await api(ctx, `/repos/${repository}/issues`, init, ['public_repo'])) as { html_url: string }
    return issue.html_url
  },
)

const gitHub = github({
  clientId: GITHUB_ID ?? '',
  clientSecret: GITHUB_SECRET ?? '',
  additionalScopes: ['public_repo'],
  ...(GITHUB_URL && GITHUB_API && { url: GITHUB_URL, apiUrl: GITHUB_API }),
})

const worker = serve(server, {
  auth: signIn({ with: gitHub, requiredScopes: ['github:read'] }),
  origins: [],
  plugins: [sessions()],
})
export default worker
export const { McpSession, McpSignIn } = worker
