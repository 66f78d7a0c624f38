/**
 * 2025-03-26, as the difference to 2025-06-18.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/changelog
 */
import { before } from '../revision.ts'
import type { Params } from '../types.ts'
import { rev20250618 } from './2025-06-18.ts'
import { mapContent, mapItems, mapMember, omit, pipe } from './transform-helpers.ts'

const untitled = omit('title', '_meta')
const undated = mapMember('annotations', omit('lastModified'))
const plainBlocks = mapContent(plainBlock)

export const rev20250326 = before(rev20250618, {
  date: '2025-03-26',
  // JSON-RPC batching was removed.
  traits: { stateless: false, batching: true, polling: false },

  // Structured tool output, resource links, titles and `_meta` were added.
  implementation: omit('title'),
  results: {
    'tools/list': mapItems('tools', omit('title', '_meta', 'outputSchema')),
    'tools/call': pipe(omit('structuredContent'), plainBlocks['tools/call']),
    'prompts/list': mapItems('prompts', pipe(untitled, mapItems('arguments', omit('title')))),
    'prompts/get': plainBlocks['prompts/get'],
    'resources/list': mapItems('resources', pipe(untitled, undated)),
    'resources/templates/list': mapItems('resourceTemplates', pipe(untitled, undated)),
    'resources/read': mapItems('contents', omit('_meta')),
  },

  // Elicitation was added; what is sampled gained what blocks gained.
  client: omit('elicitation'),
  asks: {
    'elicitation/create': () => undefined,
    'sampling/createMessage': mapItems('messages', mapMember('content', plainBlock)),
  },
})

/** Converts a resource link into a line of text, so that the model sees the URI. */
function plainBlock(block: Params): Params {
  if (block.type === 'resource_link') return { type: 'text', text: `${block.title ?? block.name}: ${block.uri}` }
  const plain = undated(omit('_meta')(block))
  return plain.type === 'resource' ? mapMember('resource', omit('_meta'))(plain) : plain
}
