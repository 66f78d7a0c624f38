/**
 * 2024-11-05, as the difference to 2025-03-26.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/changelog
 */
import { before } from '../revision.ts'
import type { Params } from '../types.ts'
import { rev20250326 } from './2025-03-26.ts'
import { mapContent, mapItems, omit } from './transform-helpers.ts'

export const rev20241105 = before(rev20250326, {
  date: '2024-11-05',
  // Batching came with Streamable HTTP.
  traits: { stateless: false, batching: false, polling: false },

  // Tool annotations and audio were added.
  results: {
    'tools/list': mapItems('tools', omit('annotations')),
    ...mapContent(withoutAudio),
  },
  asks: {
    'sampling/createMessage': (params) => (hasAudio(params) ? undefined : params),
  },

  // Progress gained a message, and completion a capability.
  notifications: { 'notifications/progress': omit('message') },
  server: omit('completions'),
})

function withoutAudio(block: Params): Params {
  return block.type === 'audio' ? { type: 'text', text: `[audio, ${block.mimeType}]` } : block
}

const hasAudio = (params: Params) =>
  Array.isArray(params.messages) && params.messages.some((message) => message.content?.type === 'audio')
