import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { ISSUER, APP } = env as { ISSUER: string; APP: string }

const server = createServer({ name: 'protected', title: 'Protected notes', version: '1.0.0' })

// Kept until the Worker is started again. They are not the point here: examples/notes has a notebook that lasts.
const notes = new Map([['welcome', 'Reading requires the scope notes:read, writing also requires notes:write.']])

const note = server.resource(
  'note://{id}',
  {
    title: 'Note',
    description: 'A note, by its id',
    scopes: ['notes:read'],
    list: () => [...notes.keys()].map((id) => ({ id, name: id })),
    complete: { id: (prefix) => [...notes.keys()].filter((id) => id.startsWith(prefix)) },
  },
  ({ id }) => notes.get(id),
)

server.tool('whoami', { description: 'Returns the caller and its scopes', scopes: [] }, (_, { principal }) =>
  principal ? `${principal.subject}, who may ${principal.scopes.join(' ')}` : 'nobody',
)

server.tool(
  'read_note',
  {
    description: 'Reads a note',
    inputSchema: z.object({ id: z.string() }),
    scopes: ['notes:read'],
    annotations: { readOnlyHint: true },
  },
  ({ id }) => notes.get(id) ?? 'There is no such note.',
)

server.tool(
  'write_note',
  {
    description: 'Writes a note, or replaces the one with the same id',
    inputSchema: z.object({ id: z.string(), text: z.string() }),
    scopes: ['notes:read', 'notes:write'],
    // Whoever may only read sees it too, so that a client can ask for more when it is wanted.
    listWithoutScopes: true,
  },
  async ({ id, text }) => {
    notes.set(id, text)
    await note.updated({ id })
    return `Wrote ${id}.`
  },
)

server.prompt(
  'summarize',
  { description: 'Asks for a summary of a note', scopes: ['notes:read'], argsSchema: z.object({ id: z.string() }) },
  ({ id }) => `Summarize this note in one sentence:\n\n${notes.get(id) ?? '(no such note)'}`,
)

const worker = serve(server, {
  // Whose pages may call this from a browser.
  origins: [APP], // A client asks for reading first, and for writing when it comes to that.
  auth: bearer({ issuer: ISSUER, scopes: ['notes:read'], resourceName: 'Protected notes' }),
  plugins: [sessions(), page(), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
