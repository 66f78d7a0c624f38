import { createServer, resourceLink, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { listNoteIds, readNote, searchNotes, writeNote } from './notes.ts'

const server = createServer({ name: '{{name}}', version: '1.0.0', instructions: 'A small notebook.' })

const note = server.resource(
  'note://{id}',
  {
    description: 'A note, by its id',
    mimeType: 'text/markdown',
    list: async () => (await listNoteIds()).map((id) => ({ id, name: id })),
  },
  ({ id }) => readNote(id),
)

server.tool(
  'write_note',
  {
    description: 'Writes a note, or replaces the note with the same id',
    inputSchema: z.object({
      id: z.string().regex(/^[a-z0-9-]{1,64}$/, 'use lower-case letters, digits and dashes'),
      text: z.string().max(10_000),
    }),
    annotations: { idempotentHint: true },
  },
  async ({ id, text }) => {
    const isNew = await writeNote(id, text)
    // Clients that subscribed to this note, and clients that listed the notes, receive a notification.
    await note.updated({ id })
    if (isNew) await server.notify.resourcesChanged()
    return resourceLink(note.uri({ id }), { name: id, mimeType: 'text/markdown' })
  },
)

server.tool(
  'search_notes',
  {
    description: 'Finds notes that contain a text',
    inputSchema: z.object({ query: z.string().min(1).max(200) }),
    outputSchema: z.object({ ids: z.array(z.string()) }),
    annotations: { readOnlyHint: true },
  },
  async ({ query }) => ({ ids: await searchNotes(query) }),
)

const worker = serve(server, { handlerErrors: 'generic', plugins: [sessions(), subscriptions()] })
export default worker
export const { McpSession, McpSubscriptions } = worker
