/** Content blocks: the functions that create them, and the checks of blocks that others wrote. */
import { encodeBase64 } from '../protocol/base64.ts'
import type { Failure } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  Meta,
  Params,
  ResourceContents,
  ResourceItem,
  ResourceLink,
  TextContent,
} from '../protocol/types.ts'
import { checkBase64 } from './check-declarations.ts'
import { checkValue, type Kinds, wrongValue } from './check-options.ts'
import * as kind from './option-kinds.ts'
import { annotated, describing, ofContents, readOptional } from './optional-members.ts'

/**
 * Creates a text content block.
 *
 * @throws Error for a value that is no string
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#text-content
 *
 * @example
 * server.tool('sum', { description: 'Add two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
 *   ({ a, b }) => [text(`${a} + ${b}`), text(String(a + b))])
 */
export const text = (value: string): TextContent => made('text()', { type: 'text', text: value })

/**
 * Creates an image content block.
 *
 * @param data the bytes of the image, or their base64
 * @param mimeType the media type of the image, such as `image/png`
 * @throws Error for a text that is not base64, and for a media type that is no string
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#image-content
 *
 * @example
 * server.tool('logo', { description: 'Show the logo' }, async () => {
 *   const response = await fetch('https://example.com/logo.png')
 *   return image(new Uint8Array(await response.arrayBuffer()), 'image/png')
 * })
 */
export const image = (data: string | Uint8Array, mimeType: string): ImageContent =>
  made('image()', { type: 'image', data: asBase64(data, 'image()'), mimeType })

/**
 * Creates an audio content block.
 *
 * @param data the bytes of the recording, or their base64
 * @param mimeType the media type of the recording, such as `audio/wav`
 * @throws Error for a text that is not base64, and for a media type that is no string
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#audio-content
 *
 * @example
 * server.tool('bell', { description: 'Play the bell' }, async () => {
 *   const response = await fetch('https://example.com/bell.wav')
 *   return audio(new Uint8Array(await response.arrayBuffer()), 'audio/wav')
 * })
 */
export const audio = (data: string | Uint8Array, mimeType: string): AudioContent =>
  made('audio()', { type: 'audio', data: asBase64(data, 'audio()'), mimeType })

/**
 * Creates a link to a resource that the client may read later. Lists do not need to contain the resource.
 *
 * @param uri the URI of the resource
 * @param item the other members of the link: `name` is required
 * @throws Error for a URI or a name that is no string
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#resource-links
 *
 * @example
 * server.tool('report', { description: 'Write the monthly report' }, () =>
 *   resourceLink('report://2026-07', { name: 'Report of July', mimeType: 'text/markdown' }))
 */
export const resourceLink = (uri: string, item: Omit<ResourceItem, 'uri'>): ResourceLink =>
  made('resourceLink()', { type: 'resource_link', uri, ...item })

/**
 * Creates a content block that contains a resource.
 *
 * @param resource the contents: `uri`, and `text` or `blob` (base64)
 * @throws Error for contents without `uri`, or without `text` or `blob`
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#embedded-resources
 *
 * @example
 * server.tool('source', { description: 'Show the source' }, () =>
 *   embeddedResource({ uri: 'file:///main.ts', mimeType: 'text/plain', text: 'console.log(1)' }))
 */
export const embeddedResource = (resource: ResourceContents): EmbeddedResource =>
  made('embeddedResource()', { type: 'resource', resource })

const required = kind.required(kind.string)
const ofText = { type: required, text: required, ...annotated }
const ofData = { type: required, data: kind.required(kind.base64), mimeType: required, ...annotated }

/** Members of each kind of content block. */
const blockMembers: ReadonlyMap<unknown, Kinds> = new Map<unknown, Kinds>([
  ['text', ofText],
  ['image', ofData],
  ['audio', ofData],
  ['resource_link', { ...describing, type: required, uri: required, name: required }],
  [
    'resource',
    { type: required, resource: [isContents, '{ uri, text } or { uri, blob }', ofContents, true], ...annotated },
  ],
])

const membersOf = ({ type }: { readonly type?: unknown }): Kinds => blockMembers.get(type) ?? {}

/** @param maker the function that made the block. @throws Error that names a required member of another type */
function made<B extends ContentBlock>(maker: string, block: B): B {
  for (const [name, kind] of Object.entries(membersOf(block))) {
    // Base64 is checked before, or made of bytes.
    if (kind[3] && name !== 'data') checkValue(maker, name, Reflect.get(block, name), kind)
  }
  return block
}

/** Whether a value has the required members of a content block. It may have others. `readBlock` checks that data is base64. */
export const isBlock = (value: unknown): value is ContentBlock =>
  isObject(value) &&
  blockMembers.has(value.type) &&
  Object.entries(membersOf(value)).every(([name, [, , members, isRequired]]) => {
    if (!isRequired) return true
    return members ? isContents(value[name]) : typeof value[name] === 'string'
  })

/** Whether a value has the members of a content block and no others. A value with others is data of the application. */
export const isPlainBlock = (value: unknown): value is ContentBlock =>
  isBlock(value) && hasOnly(value, Object.keys(membersOf(value)))

/**
 * @param path the place in the result, for the error
 * @throws for an optional member of the wrong type, and for another one without a JSON form
 */
export function readBlock(block: ContentBlock, owner: string, path: string, Failure?: Failure): ContentBlock {
  if (!isPlainBlock(block)) jsonText(block, `"${path.slice(0, -1)}" of ${owner} has`, Failure)
  return readOptional(block, membersOf(block), owner, path, Failure)
}

/**
 * Returns a content block of another server without members that are `null`.
 *
 * @param path the text before names of members, for the error: `content[0].`
 * @throws Failure that names the member, for an unknown type, and for a member of the wrong type
 */
export function readForeignBlock(block: Params, owner: string, path: string, Failure: Failure): Params {
  const members = blockMembers.get(block.type)
  if (members) return readOptional(block, members, owner, path, Failure)
  const expected = `one of ${[...blockMembers.keys()].join(', ')}`
  throw new Failure(wrongValue(owner, `${path}type`, block.type, [() => false, expected]))
}

export const isPlainBlocks = (value: unknown): value is ContentBlock[] => kind.isListOf(value, isPlainBlock)

export function isContents(value: unknown): value is ResourceContents {
  return isContentsPart(value) && typeof value.uri === 'string'
}

export const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every((key) => names.includes(key))

/** Contents whose `uri` and `mimeType` default to those of the resource. */
export type ContentsPart = { uri?: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string })

export function isContentsPart(value: unknown): value is ContentsPart {
  return isObject(value) && (typeof value.text === 'string' || typeof value.blob === 'string')
}

/** @param maker the name of the public function for errors, such as `image()` */
function asBase64(data: string | Uint8Array, maker: string): string {
  checkBase64(maker, data)
  return typeof data === 'string' ? data : encodeBase64(data)
}
