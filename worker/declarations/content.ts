/** Content blocks, and the conversion of the value that a handler returns into the result of its method. */
import { encodeBase64 } from '../protocol/base64.ts'
import { DeveloperError, type Failure, McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type {
  AudioContent,
  CallToolResult,
  ContentBlock,
  EmbeddedResource,
  GetPromptResult,
  ImageContent,
  JsonSchema,
  Meta,
  Params,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  ResourceItem,
  ResourceLink,
  TextContent,
} from '../protocol/types.ts'
import { checkBase64 } from './check-declarations.ts'
import { type Kinds, wrongValue } from './check-options.ts'
import * as kind from './option-kinds.ts'
import { annotated, describing, ofContents, readOptional } from './optional-members.ts'
import { type Issues, issuesText, type Validator } from './schema.ts'

/**
 * Creates a text content block.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#text-content
 *
 * @example
 * server.tool('sum', { description: 'Add two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) },
 *   ({ a, b }) => [text(`${a} + ${b}`), text(String(a + b))])
 */
export const text = (value: string): TextContent => ({ type: 'text', text: value })

/**
 * Creates an image content block.
 *
 * @param data the bytes of the image, or their base64
 * @param mimeType the media type of the image, such as `image/png`
 * @throws Error for a text that is not base64
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#image-content
 *
 * @example
 * server.tool('logo', { description: 'Show the logo' }, async () => {
 *   const response = await fetch('https://example.com/logo.png')
 *   return image(new Uint8Array(await response.arrayBuffer()), 'image/png')
 * })
 */
export const image = (data: string | Uint8Array, mimeType: string): ImageContent => ({
  type: 'image',
  data: asBase64(data, 'image()'),
  mimeType,
})

/**
 * Creates an audio content block.
 *
 * @param data the bytes of the recording, or their base64
 * @param mimeType the media type of the recording, such as `audio/wav`
 * @throws Error for a text that is not base64
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#audio-content
 *
 * @example
 * server.tool('bell', { description: 'Play the bell' }, async () => {
 *   const response = await fetch('https://example.com/bell.wav')
 *   return audio(new Uint8Array(await response.arrayBuffer()), 'audio/wav')
 * })
 */
export const audio = (data: string | Uint8Array, mimeType: string): AudioContent => ({
  type: 'audio',
  data: asBase64(data, 'audio()'),
  mimeType,
})

/**
 * Creates a link to a resource that the client may read later. Lists do not need to contain the resource.
 *
 * @param uri the URI of the resource
 * @param item the other members of the link: `name` is required
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#resource-links
 *
 * @example
 * server.tool('report', { description: 'Write the monthly report' }, () =>
 *   resourceLink('report://2026-07', { name: 'Report of July', mimeType: 'text/markdown' }))
 */
export const resourceLink = (uri: string, item: Omit<ResourceItem, 'uri'>): ResourceLink => ({
  type: 'resource_link',
  uri,
  ...item,
})

/**
 * Creates a content block that contains a resource.
 *
 * @param resource the contents: `uri`, and `text` or `blob` (base64)
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#embedded-resources
 *
 * @example
 * server.tool('source', { description: 'Show the source' }, () =>
 *   embeddedResource({ uri: 'file:///main.ts', mimeType: 'text/plain', text: 'console.log(1)' }))
 */
export const embeddedResource = (resource: ResourceContents): EmbeddedResource => ({ type: 'resource', resource })

/**
 * Creates a tool result with `isError: true`. The model reads the message and can call the tool again with other arguments.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
 *
 * @example
 * server.tool('divide', { description: 'Divide a by b', inputSchema: z.object({ a: z.number(), b: z.number() }) },
 *   ({ a, b }) => (b === 0 ? toolError('b must not be 0') : String(a / b)))
 */
export const toolError = (message: string): CallToolResult =>
  toolResults.add({ content: [text(message)], isError: true })

/** Converts the value that a handler threw into a tool result with `isError: true`. */
export function failureOf(thrown: unknown): CallToolResult {
  let message: unknown
  try {
    message = thrown instanceof Error && thrown.message
  } catch {
    // A proxy or a getter can throw.
  }
  return toolError(typeof message === 'string' && message !== '' ? message : 'The tool failed')
}

const required = kind.required(kind.string)
const ofText = { type: required, text: required, ...annotated }
const ofData = { type: required, data: required, mimeType: required, ...annotated }

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

/** Whether a value has the required members of a content block. It may have others. */
const isBlock = (value: unknown): value is ContentBlock =>
  isObject(value) &&
  blockMembers.has(value.type) &&
  Object.entries(membersOf(value)).every(([name, [accepts, , , isRequired]]) => !isRequired || accepts(value[name]))

/** Whether a value has the members of a content block and no others. A value with others is data of the application. */
const isPlainBlock = (value: unknown): value is ContentBlock =>
  isBlock(value) && hasOnly(value, Object.keys(membersOf(value)))

/** @param path the place in the result, for the error. @throws for an optional member of the wrong type */
const readBlock = (block: ContentBlock, ...where: [owner: string, path: string, failure?: Failure]): ContentBlock =>
  readOptional(block, membersOf(block), ...where)

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

const isPlainBlocks = (value: unknown): value is ContentBlock[] => kind.isListOf(value, isPlainBlock)

function isContents(value: unknown): value is ResourceContents {
  return isContentsPart(value) && typeof value.uri === 'string'
}

const hasOnly = (value: object, names: readonly string[]): boolean =>
  Object.keys(value).every((key) => names.includes(key))

/** Whether `_meta` has no key with a prefix that MCP reserves. Only the server may write those keys. */
const isOwnMeta = (meta: unknown): meta is Meta | undefined | null => {
  const own = meta ?? {}
  return isObject(own) && !Object.keys(own).some((key) => reservedPrefix.test(key))
}
const reservedPrefix = /^(?:[\w-]+\.)*(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*\//i

const toolResultMembers = ['content', 'structuredContent', 'isError', '_meta'] as const
const promptResultMembers = ['description', 'messages', '_meta'] as const
const resourceResultMembers = ['contents', '_meta'] as const
/** Optional members of results. */
const ofResult: Kinds = { isError: kind.flag, description: kind.string, _meta: kind.object() }

/** Results that a constructor function such as `toolResult` made. Data cannot imitate membership. */
function madeResults<R extends object>() {
  const results = new WeakSet<object>()
  return {
    add(result: R): R {
      results.add(result)
      return result
    },
    has: (value: unknown): value is R => isObject(value) && results.has(value),
  }
}

const toolResults = madeResults<CallToolResult>()
const promptResults = madeResults<GetPromptResult>()
const resourceResults = madeResults<ReadResourceResult>()

/**
 * Creates a full tool result, for a handler to return. `content` defaults to an empty list.
 *
 * @param result `content`, `structuredContent`, `isError` and `_meta`, all optional
 * @throws TypeError for any other member, and for `content` that is not a list of content blocks
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
 *
 * @example
 * server.tool('sold', { description: 'Count the sales' }, () =>
 *   toolResult({ content: [text('Sold 3.')], structuredContent: { sold: 3 }, _meta: { 'example.com/view': 'table' } }))
 */
export function toolResult(result: Partial<CallToolResult>): CallToolResult {
  const { content = [], ...members } = taken('toolResult', result, toolResultMembers)
  refuseUnless(kind.isListOf(content, isBlock), 'toolResult() needs a list of content blocks as "content"')
  refuseUnless(typeof (members.isError ?? false) === 'boolean', 'toolResult() needs a boolean as "isError"')
  return toolResults.add({ content, ...members })
}

/**
 * Creates a full prompt result, for a handler to return. `description` defaults to that of the prompt.
 *
 * @param result `messages`, and optionally `description` and `_meta`
 * @throws TypeError for any other member, and for `messages` that is not a list
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#getting-a-prompt
 *
 * @example
 * server.prompt('review', { description: 'Review code' }, () =>
 *   promptResult({ description: 'A short review', messages: [{ role: 'user', content: text('Review my code.') }] }))
 */
export function promptResult(result: GetPromptResult): GetPromptResult {
  const checked = taken('promptResult', result, promptResultMembers)
  refuseUnless(Array.isArray(checked.messages), 'promptResult() needs a list as "messages"')
  return promptResults.add(checked)
}

/**
 * Creates a full resource result, for a handler to return.
 *
 * @param result `contents`, and optionally `_meta`; each of the contents has `uri`, and `text` or `blob` (base64)
 * @throws TypeError for any other member, and for contents without `uri`, or without `text` or `blob`
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/resources#reading-resources
 *
 * @example
 * server.resource('note://1', { description: 'A note' }, (_, ctx) =>
 *   resourceResult({ contents: [{ uri: ctx.uri, text: 'Buy milk' }], _meta: { 'example.com/color': 'blue' } }))
 */
export function resourceResult(result: ReadResourceResult): ReadResourceResult {
  const checked = taken('resourceResult', result, resourceResultMembers)
  const problem = 'resourceResult() needs a list of { uri, text } or { uri, blob } as "contents"'
  refuseUnless(kind.isListOf(checked.contents, isContents), problem)
  return resourceResults.add(checked)
}

/**
 * Checks the members of a result, and removes `resultType: 'complete'`, which results of other servers have. @throws TypeError for any
 * other member
 */
function taken<R extends object>(maker: string, result: R, names: readonly string[]): R {
  if (!isObject(result)) throw new TypeError(`${maker}() takes an object with ${listOf(names)}, not ${kindOf(result)}`)
  const { resultType, ...members } = result
  const other =
    resultType === undefined || resultType === 'complete'
      ? Object.keys(members).find((name) => !names.includes(name))
      : 'resultType'
  if (other !== undefined) throw new TypeError(`${maker}() does not take "${other}": it takes ${listOf(names)}`)
  const { _meta } = result
  refuseUnless(isObject(_meta ?? {}), `${maker}() needs an object as "_meta"`)
  return members as unknown as R // resultType is no member of R
}

function refuseUnless(isRight: boolean, problem: string): void {
  if (!isRight) throw new TypeError(problem)
}

const listOf = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** Describes the type of a value for error messages, with an article. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return `a ${typeof value}`
  if (value instanceof Uint8Array) return 'bytes'
  return `an object with the members ${Object.keys(value).slice(0, 10).join(', ') || '(none)'}`
}

/**
 * Converts the value that a tool handler returned into a tool result.
 *
 * A result of `toolResult` is used as it is. Text and content blocks become `content`. If the tool has an output schema, the value becomes
 * `structuredContent`. Other values become their JSON. An object that has only members of a tool result, all of them valid, counts as a
 * tool result, because SDK handlers return such objects.
 *
 * @throws Error when the value does not match the output schema or has no JSON form. The model may read the message
 */
export async function callToolResult(
  value: unknown,
  output: Validator | undefined,
  name: string,
): Promise<CallToolResult> {
  if (toolResults.has(value)) return fullResult(value, output, name)
  if (output) {
    // Data that the schema describes is data, even if it could be a result.
    const isResult = isWrittenResult(value) && (value.isError === true || 'structuredContent' in value)
    if (isResult && !describesContent(output.jsonSchema)) return fullResult(value, output, name)
    const checked = await output.check(value)
    if ('issues' in checked) throw brokenOutput(name, checked.issues)
    return { content: [jsonBlock(checked.value, name)], structuredContent: checked.value }
  }
  if (value === undefined || value === null) return { content: [] }
  if (typeof value === 'string') return { content: [text(value)] }
  if (isWrittenResult(value)) return fullResult(value, output, name)
  const blocks = isPlainBlock(value) ? [value] : value
  if (isPlainBlocks(blocks)) return fullResult({ content: blocks }, output, name)
  return { content: [jsonBlock(value, name)] }
}

const describesContent = ({ properties }: JsonSchema): boolean => isObject(properties) && 'content' in properties

/** Whether a value has the members of a tool result and no others: no input request, no task, no reserved `_meta`. */
const isWrittenResult = (value: unknown): value is CallToolResult =>
  isObject(value) &&
  isPlainBlocks(value.content) &&
  typeof (value.isError ?? false) === 'boolean' &&
  isOwnMeta(value._meta) &&
  hasOnly(value, toolResultMembers)

/** Validates a result. Returns a copy: the object of the handler does not change. */
async function fullResult(
  result: CallToolResult,
  output: Validator | undefined,
  name: string,
): Promise<CallToolResult> {
  const owner = `the result of tool "${name}"`
  const content = result.content.map((block, index) => readBlock(block, owner, `content[${index}].`, TypeError))
  const full = readOptional({ ...result, content }, ofResult, owner, '', TypeError)
  if (output && !result.isError) {
    const checked = await output.check(result.structuredContent)
    if ('issues' in checked) throw brokenOutput(name, checked.issues)
    full.structuredContent = checked.value
  }
  if (full.structuredContent !== undefined) {
    const block = jsonBlock(full.structuredContent, name)
    // For clients and models that read content only.
    if (full.content.length === 0) full.content = [block]
  }
  return full
}

/** @throws TypeError for what has no JSON form */
const jsonBlock = (value: unknown, name: string): TextContent => text(jsonText(value, `Tool "${name}" returned`) ?? '')

const brokenResult = (owner: string, value: unknown, expected: string) =>
  new DeveloperError(`${owner} returned ${kindOf(value)}: return ${expected}`)

/** A function of a declaration, such as `list`, returned a value that is not a list of the expected entries. */
export function brokenList(
  name: string,
  declaration: string,
  value: unknown,
  isEntry: (entry: unknown) => boolean,
  expected: string,
): McpError {
  const owner = `"${name}" of the ${declaration}`
  const found = Array.isArray(value) ? `a list with ${kindOf(value.find((entry) => !isEntry(entry)))}` : kindOf(value)
  return new DeveloperError(`${owner} returned ${found}: return ${expected}`)
}

const brokenOutput = (name: string, issues: Issues) =>
  new Error(`Tool "${name}" returned a value that does not match its output schema: ${issuesText(issues)}`)

/**
 * Converts the value that a prompt handler returned into messages. Text and content blocks get the role `user`. A result of `promptResult`,
 * or an object that has only its members, is a full result.
 *
 * @throws McpError `internal_error` for any other value
 */
export function getPromptResult(value: unknown, description: string | undefined, name: string): GetPromptResult {
  const owner = `the result of prompt "${name}"`
  const result: WrittenPrompt =
    promptResults.has(value) || isWrittenPrompt(value)
      ? readOptional(value, ofResult, owner)
      : { messages: [value].flat() }
  const messages = result.messages.map((part, index) => {
    const { role, content } = promptMessage(part, name)
    return { role, content: readBlock(content, owner, `messages[${index}].content.`) }
  })
  return { description, ...result, messages }
}

/** A prompt result whose messages have not been checked. */
type WrittenPrompt = Omit<GetPromptResult, 'messages'> & { messages: readonly unknown[] }

const isWrittenPrompt = (value: unknown): value is WrittenPrompt =>
  isObject(value) &&
  Array.isArray(value.messages) &&
  typeof (value.description ?? '') === 'string' &&
  isOwnMeta(value._meta) &&
  hasOnly(value, promptResultMembers)

const isMessage = (value: unknown): value is PromptMessage =>
  isObject(value) && (value.role === 'user' || value.role === 'assistant') && isBlock(value.content)

function promptMessage(part: unknown, name: string): PromptMessage {
  if (typeof part === 'string') return { role: 'user', content: text(part) }
  if (isPlainBlock(part)) return { role: 'user', content: part }
  if (isMessage(part)) return { role: part.role, content: part.content }
  const expected = 'text, content blocks, messages { role, content } of "user" or "assistant", or promptResult({ … })'
  throw brokenResult(`Prompt "${name}"`, part, expected)
}

/**
 * Converts the value that a resource handler returned into contents. A result of `resourceResult`, or an object that has only its members,
 * is a full result.
 *
 * @throws McpError `resource_not_found` for `undefined`, `null` and an empty list, `internal_error` for a value that is not contents
 */
export function readResourceResult(value: unknown, uri: string, mimeType: string | undefined): ReadResourceResult {
  const owner = `the result of resource "${uri}"`
  const isMade = resourceResults.has(value)
  const full = isMade || isWrittenResource(value) ? value : undefined
  const parts: readonly unknown[] = full ? full.contents : [value ?? []].flat()
  if (parts.length === 0) throw resourceNotFound(uri)
  const described = mimeType === undefined ? { uri } : { uri, mimeType }
  const contents = parts.map((part, index): ResourceContents => {
    const place = `contents[${index}]`
    if (!full) return contentsOf(part, described, (own) => readOptional(own, ofContents, owner, `${place}.`))
    const read = isObject(part) ? readOptional(part, ofFullContents, owner, `${place}.`) : part
    if (isContents(read) && (isMade || isPlainPart(read))) return read
    throw new DeveloperError(wrongValue(owner, place, part, [isContents, '{ uri, text } or { uri, blob }']))
  })
  return full ? { ...readOptional(full, ofResult, owner), contents } : { contents }
}

/** A resource result whose contents have not been checked. */
type WrittenResource = Omit<ReadResourceResult, 'contents'> & { contents: readonly unknown[] }

const isWrittenResource = (value: unknown): value is WrittenResource =>
  isObject(value) && Array.isArray(value.contents) && isOwnMeta(value._meta) && hasOnly(value, resourceResultMembers)

const ofFullContents: Kinds = { ...ofContents, uri: required }

const isPlainPart = (part: object): boolean => hasOnly(part, Object.keys(ofContents))

/** Contents whose `uri` and `mimeType` default to those of the resource. */
type ContentsPart = { uri?: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string })

function isContentsPart(value: unknown): value is ContentsPart {
  return isObject(value) && (typeof value.text === 'string' || typeof value.blob === 'string')
}

/** @param read validates a part, and leaves out its members that are `null` */
function contentsOf(
  part: unknown,
  described: { uri: string; mimeType?: string },
  read: (part: ContentsPart) => ContentsPart,
): ResourceContents {
  if (typeof part === 'string') return { ...described, text: part }
  if (part instanceof ArrayBuffer) return contentsOf(new Uint8Array(part), described, read)
  if (part instanceof Uint8Array) return { ...described, blob: encodeBase64(part) }
  // Rows of a database that happen to have a text are not contents.
  if (isContentsPart(part) && isPlainPart(part)) return { ...described, ...read(part) }
  throw brokenResult(
    `Resource "${described.uri}"`,
    part,
    'text, bytes, { text }, { blob }, several of these, or resourceResult({ … })',
  )
}

export const resourceNotFound = (uri: string): McpError =>
  new McpError('resource_not_found', `Resource not found: ${uri}`, { uri })

/** @param maker the name of the public function for errors, such as `image()` */
function asBase64(data: string | Uint8Array, maker: string): string {
  checkBase64(maker, data)
  return typeof data === 'string' ? data : encodeBase64(data)
}
