/** A server whose callers need tokens of an authorization server that a test runs. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { ISSUER } = env as { ISSUER: string }

const server = createServer({ name: 'protected', version: '1.0.0' })

server.tool('who', { description: 'Who asks', scopes: [] }, (_, { principal }) =>
  [principal?.subject, principal?.client, principal?.tenant, ...(principal?.scopes ?? [])].join(' '),
)
server.tool('read', { description: 'Reads', scopes: ['notes:read'] }, () => 'read')
server.tool(
  'write',
  { description: 'Writes', scopes: ['notes:read', 'notes:write'], listWithoutScopes: true },
  () => 'written',
)
server.tool('ask', { description: 'Asks', scopes: ['notes:read'] }, async (_, ctx) => {
  const answer = await ctx.elicit('word', 'A word?', z.object({ word: z.string() }))
  return answer.action === 'accept' ? answer.content.word : answer.action
})
server.prompt(
  'secret',
  {
    description: 'Secret',
    scopes: ['prompts'],
    argsSchema: z.object({ name: z.string() }),
    complete: { name: () => ['ada'] },
  },
  ({ name }) => `Whisper to ${name}`,
)
server.resource('note://fixed', { description: 'A note', scopes: ['notes:read'] }, () => 'a note')
const note = server.resource(
  'note://{id}',
  { description: 'Notes', scopes: ['notes:read'], list: () => [{ id: '1' }], complete: { id: () => ['1', '2'] } },
  ({ id }) => `note ${id}`,
)
server.tool('touch', { description: 'Touches', scopes: [] }, async () => {
  await note.updated({ id: '1' })
  return 'touched'
})

const worker = serve(server, {
  auth: bearer({ issuer: ISSUER, tenantClaim: 'org_id', impliedScopes: { admin: ['notes:read', 'notes:write'] } }),
  plugins: [sessions(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
