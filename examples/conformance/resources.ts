/** Resources: text, bytes, a template, and one to watch. */
import type { Server } from 'edgemcp'
import { pixel } from './media.ts'

export function resources(server: Server): void {
  server.resource(
    'test://static-text',
    { name: 'static-text', description: 'A text', mimeType: 'text/plain' },
    () => 'This is the content of the static text resource.',
  )

  server.resource(
    'test://static-binary',
    { name: 'static-binary', description: 'A picture', mimeType: 'image/png' },
    () => ({ blob: pixel }),
  )

  server.resource(
    'test://template/{id}/data',
    { name: 'template', description: 'Data by its id', mimeType: 'application/json' },
    ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  )

  server.resource(
    'test://watched-resource',
    { name: 'watched-resource', description: 'A text to subscribe to', mimeType: 'text/plain' },
    () => 'This is the content of the watched resource.',
  )
}
