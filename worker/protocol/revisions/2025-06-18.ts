/**
 * 2025-06-18, as the difference to 2025-11-25.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/changelog
 */
import { isObject } from '../jsonrpc.ts'
import { before } from '../revision.ts'
import type { ClientCapabilities, Params } from '../types.ts'
import { rev20251125 } from './2025-11-25.ts'
import { mapContent, mapItems, omit } from './transform-helpers.ts'

const noIcons = omit('icons')

export const rev20250618 = before(rev20251125, {
  date: '2025-06-18',
  // Polling of streams was added (SEP-1699).
  traits: { stateless: false, batching: false, polling: false },

  // Icons, and more to say about an implementation.
  implementation: omit('icons', 'description', 'websiteUrl'),
  results: {
    'tools/list': mapItems('tools', noIcons),
    'prompts/list': mapItems('prompts', noIcons),
    'resources/list': mapItems('resources', noIcons),
    'resources/templates/list': mapItems('resourceTemplates', noIcons),
    ...mapContent(noIcons),
  },

  // Elicitation gained modes, titled and multi-select enums and more defaults; sampling gained tools, and context became
  // a capability.
  client: (capabilities): ClientCapabilities => ({
    ...capabilities,
    ...(isObject(capabilities.elicitation) && { elicitation: { form: {} } }),
    ...(isObject(capabilities.sampling) && { sampling: { context: {} } }),
  }),
  notifications: { 'notifications/elicitation/complete': () => undefined },
  asks: {
    'elicitation/create': (params) => (params.mode === 'url' ? undefined : plainForm(params)),
    'sampling/createMessage': (params) => (isPlainSampling(params) ? omit('tools', 'toolChoice')(params) : undefined),
  },
})

function plainForm(params: Params): Params | undefined {
  const schema = objectOr(params.requestedSchema)
  const properties = Object.entries(objectOr(schema.properties)).map(
    ([name, property]) => [name, objectOr(property)] as const,
  )
  if (properties.some(([, property]) => property.type === 'array')) return undefined
  const plain = Object.fromEntries(properties.map(([name, property]) => [name, plainProperty(property)]))
  return { ...omit('mode')(params), requestedSchema: { ...omit('$schema')(schema), properties: plain } }
}

const objectOr = (value: unknown): Params => (isObject(value) ? value : {})

function plainProperty(property: Params): Params {
  const plain = property.type === 'boolean' ? property : omit('default')(property)
  if (!Array.isArray(plain.oneOf)) return plain
  const options = plain.oneOf.filter(isObject)
  return {
    ...omit('oneOf')(plain),
    enum: options.map((option) => option.const),
    enumNames: options.map((option) => option.title ?? option.const),
  }
}

const isPlainSampling = (params: Params) =>
  Array.isArray(params.messages) && params.messages.every(({ content }) => sampledTypes.has(content?.type))

const sampledTypes = new Set(['text', 'image', 'audio'])
