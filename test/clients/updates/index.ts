/**
 * Notes that change, from wherever an application may notice it. The same code runs a second time as another Worker, which
 * keeps no notes of its own: there, the binding NOTES leads to the first one's publisher.
 */
import { env } from 'cloudflare:workers'
import { type ChangeNotifier, createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { publishEntrypoint, subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

type Bindings = { QUEUE?: Queue<string>; NOTES?: ChangeNotifier }
const { QUEUE, NOTES } = env as Bindings

const server = createServer({ name: 'updates', version: '1.0.0' })

const note = server.resource('note://{id}', { description: 'A note' }, ({ id }) => id)
server.prompt('summary', { description: 'Sums up all notes' }, () => 'Sum up all notes')
server.tool(
  'edit',
  { description: 'Changes two notes, and every list', inputSchema: z.object({ ids: z.string() }) },
  async ({ ids }) => {
    await changed(ids)
    return isolate()
  },
)

/** Two notes have changed, and every list: said here, or where the notes are. */
async function changed(ids: string): Promise<void> {
  const [first, second] = [`${ids}-1`, `${ids}-2`]
  if (NOTES) {
    for (const id of [first, second]) await NOTES.resourceUpdated(note.uri({ id }))
    await NOTES.toolsChanged()
    await NOTES.promptsChanged()
    return NOTES.resourcesChanged()
  }
  for (const id of [first, second]) await note.updated({ id })
  await server.notify.toolsChanged()
  await server.notify.promptsChanged()
  await server.notify.resourcesChanged()
}

let own: string | undefined
/** The same wherever the same memory is. */
function isolate(): string {
  own ??= crypto.randomUUID()
  return own
}

const worker = serve(server, { plugins: [sessions(), subscriptions()] })
export const { McpSession, McpSubscriptions } = worker
export const McpPublisher = publishEntrypoint(server)

export default {
  /** `/probe?id=` one note has changed; `/edit?ids=` two and every list; `/queue?ids=` the same, by a message. */
  async fetch(request, bindings, ctx) {
    const { pathname, searchParams } = new URL(request.url)
    const [id, ids] = [searchParams.get('id'), searchParams.get('ids') ?? '']
    if (pathname === '/probe') await note.updated({ id: id ?? '' })
    else if (pathname === '/edit') await changed(ids)
    else if (pathname === '/queue') await QUEUE?.send(ids)
    else return worker.fetch(request, bindings, ctx)
    return new Response(isolate())
  },
  async scheduled({ scheduledTime }) {
    await changed(`cron-${scheduledTime}`)
  },
  async queue({ messages }) {
    for (const { body } of messages) await changed(body)
  },
} satisfies ExportedHandler<unknown, string>
