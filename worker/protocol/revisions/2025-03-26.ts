/**
 * 2025-03-26, told as what 2025-06-18 changed.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/changelog
 */
import { before } from '../revision.ts'
import type { ClientCapabilities, Params } from '../types.ts'
import { rev20250618 } from './2025-06-18.ts'
import { all, blocks, each, inside, without } from './rewording.ts'

const untitled = without('title', '_meta')
const undated = inside('annotations', without('lastModified'))
const plainBlocks = blocks(plainBlock)

export const rev20250326 = before(rev20250618, {
  date: '2025-03-26',

  // JSON-RPC batching was removed.
  batching: true,

  // Structured tool output, resource links, titles and `_meta` were added.
  implementation: without('title'),
  results: {
    'tools/list': each('tools', without('title', '_meta', 'outputSchema')),
    'tools/call': all(without('structuredContent'), plainBlocks['tools/call']),
    'prompts/list': each('prompts', all(untitled, each('arguments', without('title')))),
    'prompts/get': plainBlocks['prompts/get'],
    'resources/list': each('resources', all(untitled, undated)),
    'resources/templates/list': each('resourceTemplates', all(untitled, undated)),
    'resources/read': each('contents', without('_meta')),
  },

  // Elicitation was added; what is sampled gained what blocks gained.
  client: without('elicitation') as (capabilities: ClientCapabilities) => ClientCapabilities,
  asks: {
    'elicitation/create': () => undefined,
    'sampling/createMessage': each('messages', inside('content', plainBlock)),
  },
})

/** A link becomes a line of text, so that the model still sees the address. */
function plainBlock(block: Params): Params {
  if (block.type === 'resource_link') return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}` }
  const plain = undated(without('_meta')(block))
  return plain.type === 'resource' ? inside('resource', without('_meta'))(plain) : plain
}
