/**
 * 2024-11-05, told as what 2025-03-26 changed.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/changelog
 */
import { before } from '../revision.ts'
import type { Params } from '../types.ts'
import { rev20250326 } from './2025-03-26.ts'
import { blocks, each, without } from './rewording.ts'

export const rev20241105 = before(rev20250326, {
  date: '2024-11-05',

  // Batching came with Streamable HTTP.
  batching: false,

  // Tool annotations and audio were added.
  results: {
    'tools/list': each('tools', without('annotations')),
    ...blocks(withoutAudio),
  },
  asks: {
    'sampling/createMessage': (params) => (hasAudio(params) ? undefined : params),
  },

  // Progress gained a message, and completion a capability.
  notifications: { 'notifications/progress': without('message') },
  server: without('completions'),
})

function withoutAudio(block: Params): Params {
  return block.type === 'audio' ? { type: 'text', text: `[audio, ${block.mimeType}]` } : block
}

const hasAudio = (params: Params) =>
  Array.isArray(params.messages) && params.messages.some((message) => message.content?.type === 'audio')
