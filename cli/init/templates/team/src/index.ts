import { env } from 'cloudflare:workers'
import { createServer, type Principal, resourceLink, serve, toolError } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { Projects } from './projects.ts'

const server = createServer({ name: '{{name}}', version: '1.0.0', instructions: 'The projects of your team.' })

const projectId = z.string().regex(/^[a-z0-9-]{1,64}$/, 'use lower-case letters, digits and dashes')

/** The projects of the caller's team. */
const projectsOf = (principal: Principal | undefined) =>
  // requireTenant rejects tokens that name no team. Without it, the queries would fail.
  new Projects(principal?.tenant as string)

const project = server.resource(
  'project://{id}',
  {
    description: 'A project of your team',
    mimeType: 'application/json',
    scopes: ['projects:read'],
    list: async ({ principal }) =>
      (await projectsOf(principal).list()).map(({ id, title }) => ({ id, name: id, title })),
  },
  async ({ id }, { principal }) => {
    const found = await projectsOf(principal).read(id)
    return found && JSON.stringify(found)
  },
)

server.tool(
  'create_project',
  {
    description: 'Creates a project in your team',
    inputSchema: z.object({ id: projectId, title: z.string().min(1).max(200) }),
    scopes: ['projects:write'],
  },
  async ({ id, title }, { principal }) => {
    const isCreated = await projectsOf(principal).create({ id, title, owner: principal?.subject ?? '' })
    if (!isCreated) return toolError(`Your team already has a project "${id}": choose another id`)
    await server.notify.resourcesChanged()
    return resourceLink(project.uri({ id }), { name: id, title, mimeType: 'application/json' })
  },
)

server.tool(
  'delete_project',
  {
    description: 'Deletes a project of your team, after the user confirms',
    inputSchema: z.object({ id: projectId }),
    scopes: ['projects:write'],
    annotations: { destructiveHint: true },
  },
  async ({ id }, ctx) => {
    const projects = projectsOf(ctx.principal)
    const found = await projects.read(id)
    if (!found) return toolError(`Your team has no project "${id}"`)
    const answer = await ctx.elicit('confirm', `Delete "${found.title}"?`, z.object({ delete: z.boolean() }))
    if (answer.action !== 'accept' || !answer.content.delete) return 'The project was not deleted.'
    await ctx.once('delete', () => projects.delete(id))
    await project.updated({ id })
    await server.notify.resourcesChanged()
    return `Deleted "${found.title}".`
  },
)

const worker = serve(server, {
  handlerErrors: 'generic',
  auth: bearer({
    issuer: env.ISSUER,
    ...(env.KEYS ? { keys: JSON.parse(env.KEYS) } : {}),
    // The claim of the token that names the team.
    tenantClaim: 'org_id',
    requireTenant: true,
    requireScopesEverywhere: true,
  }),
  plugins: [sessions(), subscriptions()],
  // Web pages that may call this server from a browser, such as 'https://app.example.com'.
  origins: [],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
