/** Two endpoints, each with an event of the same name. */
import { createServer, serve } from 'edgemcp'
import { combine } from 'edgemcp/compose'
import { event, events } from 'edgemcp/events'
import * as z from 'zod'

const auth = {
  async authenticate(request: Request) {
    const [, subject] = request.headers.get('Authorization')?.split(' ') ?? []
    return subject ? { issuer: 'test', subject, scopes: [], claims: {} } : undefined
  },
}

function endpoint(path: string, className: string) {
  const saved = event('note.saved', { payloadSchema: z.object({ at: z.string() }) })
  const removed = event('note.removed', { payloadSchema: z.object({ at: z.string() }) })
  const server = createServer({ name: 'notes', version: '1.0.0' })
  server.tool('save', { description: 'Publishes note.saved' }, () =>
    saved.publish({ at: path }, { everyone: true }, { id: `evt_${className}` }),
  )
  return serve(server, {
    path,
    auth,
    plugins: [events([saved, removed])],
    durableObjects: { names: { McpEvents: className } },
  })
}

const first = endpoint('/first', 'FirstEvents')
const second = endpoint('/second', 'SecondEvents')
export default combine(first, second)
export const { McpEvents: FirstEvents } = first
export const { McpEvents: SecondEvents } = second
