import type { AccessOptions } from '../../declarations/caller.ts'
import { checkOptions, isObject, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable, Context } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { toolError } from '../../declarations/result-constructors.ts'
import type { StandardSchema } from '../../declarations/schema.ts'
import type { Module } from '../../declarations/server.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'

/** Describes a document that a search found. */
export type SearchResult = {
  /** Id of the document, which `fetch` gets. */
  readonly id: string
  /** Title for users. */
  readonly title: string
  /** URL of the document, which citations link to. */
  readonly url: string
}

/** Holds a document. */
export type KnowledgeDocument = SearchResult & {
  /** The whole text. */
  readonly text: string
  /** Data about the document, as JSON values. Default, and for `null`: none. */
  readonly metadata?: Readonly<Record<string, unknown>> | null
}

/** Configures `knowledge()`. */
export type KnowledgeOptions = Pick<AccessOptions, 'scopes' | 'rateLimit' | 'visibleTo'> & {
  /** Returns the documents that match a query of the model, best first. */
  search: (query: string, ctx: Context) => Awaitable<readonly SearchResult[]>
  /** Returns the document with an id that `search` returned; `undefined` or `null` for an unknown id. */
  fetch: (id: string, ctx: Context) => Awaitable<KnowledgeDocument | null | undefined>
  /** Tells models what the documents are about, as a sentence at the end of the descriptions of both tools. Default: none. */
  description?: string
}

const kinds: KindsOf<KnowledgeOptions> = {
  search: kind.required(kind.fn),
  fetch: kind.required(kind.fn),
  description: kind.name,
  scopes: kind.scopes,
  rateLimit: kind.object(),
  visibleTo: kind.fn,
}

/**
 * Adds the tools `search` and `fetch`, as a module for `server.use`: those with which deep research and company knowledge of ChatGPT read
 * documents, and cite them by their URLs. The result of each is one JSON text and the same value as structured content. Members of documents
 * that OpenAI does not name are not sent.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.openai.com/api/docs/mcp
 *
 * @example
 * const pages = new Map([['tea', { id: 'tea', title: 'Tea', url: 'https://example.com/tea', text: 'Boil water.' }]])
 * server.use(
 *   knowledge({
 *     search: (query) => [...pages.values()].filter(({ text }) => text.includes(query)),
 *     fetch: (id) => pages.get(id),
 *   }),
 * )
 */
export function knowledge(options: KnowledgeOptions): Module {
  checkOptions('knowledge()', options, kinds)
  const { search, fetch, description, ...access } = options
  const annotations = { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false }
  const about = (text: string) => (description === undefined ? text : `${text} ${description}`)
  return (server) => {
    server.tool(
      'search',
      {
        title: 'Search documents',
        description: about('Finds documents by a query, best first. Read a document by its id.'),
        inputSchema: argument('query', 'Words or a question'),
        outputSchema: described(objectOf({ results: { type: 'array', items: objectOf(found) } })),
        annotations,
        ...access,
      },
      async (query, ctx) => {
        const results: unknown = await search(query, ctx)
        if (!Array.isArray(results)) throw new Error('"search" of knowledge() returned no list: return one')
        return { results: results.map((result) => textsOf(result, found, 'search')) }
      },
    )
    server.tool(
      'fetch',
      {
        title: 'Read a document',
        description: about('Returns the whole text of a document that a search found, by its id.'),
        inputSchema: argument('id', 'The id of a document that a search found'),
        outputSchema: described(objectOf(read, { metadata: { type: 'object' } })),
        annotations,
        ...access,
      },
      async (id, ctx) => {
        const document = await fetch(id, ctx)
        if (document === undefined || document === null) {
          return toolError(`Unknown id: ${id}. Use the id of a document that a search found`)
        }
        return { ...textsOf(document, read, 'fetch'), metadata: metadataOf(document) }
      },
    )
  }
}

const text = { type: 'string' }
const found = { id: text, title: text, url: text }
const read = { ...found, text }

const objectOf = (properties: JsonSchema, optional: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
})

/** A Standard Schema: a plain JSON Schema needs an option of the server. */
const schemaOf = <T>(json: JsonSchema, validate: StandardSchema<unknown, T>['~standard']['validate']) =>
  ({
    '~standard': { version: 1, vendor: 'edgemcp', validate, jsonSchema: { input: () => json, output: () => json } },
  }) as const

/** The schema of a result that is valid, because the handler has created it. */
const described = (json: JsonSchema) => schemaOf<unknown>(json, (value) => ({ value }))

/** The schema of an object with one text, which the handler gets. */
const argument = (name: string, description: string) =>
  schemaOf<string>(objectOf({ [name]: { ...text, description } }), (value) => {
    const given = isObject(value) ? value[name] : undefined
    return typeof given === 'string' ? { value: given } : { issues: [{ path: [name], message: 'must be a text' }] }
  })

/** Returns what JSON has for the metadata of a document. @throws Error for another value than an object, such as that of a `Date` */
function metadataOf({ metadata }: KnowledgeDocument): Params | undefined {
  if (metadata === undefined || metadata === null) return undefined
  const written: unknown = typeof metadata.toJSON === 'function' ? metadata.toJSON() : metadata
  if (isObject(written)) return written
  throw new Error('"fetch" of knowledge() returned a document whose "metadata" is not an object')
}

/** Whether a citation can link to a URL, for everyone who reads it. */
function isWebUrl(text: string): boolean {
  const url = /^https?:\/\/\S+$/i.test(text) ? URL.parse(text) : null
  return url?.username === '' && url.password === ''
}

/** Returns the named members of a document alone: a row of a database may have some that are not for clients. */
function textsOf(document: unknown, names: JsonSchema, owner: string): Params {
  const texts: Params = {}
  for (const name of Object.keys(names)) {
    const member = isObject(document) ? document[name] : undefined
    if (typeof member !== 'string') {
      throw new Error(`"${owner}" of knowledge() returned a document whose "${name}" is not a text`)
    }
    if (name === 'url' && !isWebUrl(member)) {
      throw new Error(
        `"${owner}" of knowledge() returned a document whose "url" is not a URL such as "https://example.com/tea"`,
      )
    }
    texts[name] = member
  }
  return texts
}
