/** The tools. They know the account and the API token of each request, and nothing of OAuth. */
import { createServer, type Secret } from 'edgemcp'
import * as z from 'zod'
import { deleteProject, listProjects } from './api.ts'

declare module 'edgemcp' {
  interface RequestContext {
    readonly account: string
    /** Sessions store it sealed only, and logs do not show it. */
    readonly apiToken: Secret<string>
  }
}

export const server = createServer({
  name: 'projects',
  title: 'Projects',
  version: '1.0.0',
  instructions: ({ requestContext: { account } }) => `All tools work in the account ${account}.`,
})

server.tool('whoami', { description: 'Returns the user and the account', scopes: [] }, (_, ctx) => {
  return `${ctx.principal?.subject} in the account ${ctx.requestContext.account}`
})

server.tool(
  'list_projects',
  {
    description: 'Lists the projects of the account',
    scopes: ['projects:read'],
    annotations: { readOnlyHint: true },
  },
  async (_, { requestContext: { account, apiToken } }) => (await listProjects(account, apiToken.reveal())).join(', '),
)

server.tool(
  'delete_project',
  {
    description: 'Deletes a project, after asking the user',
    inputSchema: z.object({ name: z.string() }),
    scopes: ['projects:read', 'projects:write'],
    // A client that may only read sees it too, and requests the scope when it is needed.
    listWithoutScopes: true,
  },
  async ({ name }, ctx) => {
    const { account, apiToken } = ctx.requestContext
    const Answer = z.object({ sure: z.boolean() })
    const { content } = await ctx.elicit('sure', `Delete ${name} of the account ${account}?`, Answer)
    if (!content?.sure) return 'Nothing was deleted.'
    await ctx.once('delete', () => deleteProject(account, apiToken.reveal(), name))
    return `Deleted ${name}.`
  },
)
