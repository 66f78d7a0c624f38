import { createServer, resourceLink, serve } from 'edgemcp'
import { discovery } from 'edgemcp/discovery'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'
import { Notebook, notebook } from './notebook.ts'

const server = createServer({ name: 'notes', title: 'Notes', version: '1.0.0', instructions: 'A small notebook.' })

const note = server.resource(
  'note://{id}',
  {
    title: 'Note',
    description: 'A note, by its id',
    mimeType: 'text/markdown',
    list: async () => (await notebook().list()).map(({ id, title }) => ({ id, name: id, title })),
    complete: { id: (prefix) => notebook().ids(prefix) },
  },
  async ({ id }) => (await notebook().read(id))?.text,
)

server.tool(
  'write_note',
  {
    title: 'Write a note',
    description: 'Writes a note, or replaces the one with the same id',
    inputSchema: z.object({
      id: z.string().regex(/^[a-z0-9-]{1,64}$/, 'use lower case letters, digits and dashes'),
      text: z.string().max(10_000).describe('Markdown; the first line is the title'),
    }),
    annotations: { idempotentHint: true, destructiveHint: true },
  },
  async ({ id, text }) => {
    const isNew = await notebook().write(id, text)
    await note.updated({ id })
    if (isNew) await server.notify.resourcesChanged()
    return resourceLink(note.uri({ id }), { name: id, mimeType: 'text/markdown' })
  },
)

server.tool(
  'search_notes',
  {
    title: 'Search notes',
    description: 'Finds notes that contain a text',
    inputSchema: z.object({ query: z.string() }),
    outputSchema: z.object({ notes: z.array(z.object({ id: z.string(), title: z.string() })) }),
    annotations: { readOnlyHint: true },
  },
  async ({ query }) => ({ notes: await notebook().search(query) }),
)

server.prompt(
  'summarize',
  {
    title: 'Summarize a note',
    description: 'Asks for a summary of a note',
    argsSchema: z.object({ id: z.string().describe('The id of the note') }),
    complete: { id: (prefix) => notebook().ids(prefix) },
  },
  async ({ id }) => `Summarize this note in two sentences:\n\n${(await notebook().read(id))?.text ?? '(no such note)'}`,
)

const worker = serve(server, {
  plugins: [sessions(), page(), discovery({ name: 'com.example/notes' }), subscriptions()],
})
export default worker
export const { McpSession, McpSubscriptions } = worker
export { Notebook }
