/** Content blocks, and how what a handler returns becomes what the protocol wants. */
import { encodeBase64 } from '../protocol/base64.ts'
import { McpError } from '../protocol/errors.ts'
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
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  ResourceItem,
  ResourceLink,
  TextContent,
} from '../protocol/types.ts'
import { checkBase64 } from './checks.ts'
import { type Issues, issuesText, type Validator } from './schema.ts'

export const text = (value: string): TextContent => ({ type: 'text', text: value })

/** @param data the picture's bytes, or their base64 */
export const image = (data: string | Uint8Array, mimeType: string): ImageContent => ({
  type: 'image',
  data: asBase64(data, 'image()'),
  mimeType,
})

/** @param data the sound's bytes, or their base64 */
export const audio = (data: string | Uint8Array, mimeType: string): AudioContent => ({
  type: 'audio',
  data: asBase64(data, 'audio()'),
  mimeType,
})

/** A link that the client may read. The resource need not be listed. */
export const resourceLink = (uri: string, item: Omit<ResourceItem, 'uri'>): ResourceLink => ({
  type: 'resource_link',
  uri,
  ...item,
})

/** A resource carried inside the answer. */
export const embeddedResource = (resource: ResourceContents): EmbeddedResource => ({ type: 'resource', resource })

/** A tool result with `isError`, whose text tells the model what went wrong. */
export const toolError = (message: string): CallToolResult => toolResult({ content: [text(message)], isError: true })

/** The tool result for what a handler threw. */
export const failureOf = (thrown: unknown): CallToolResult =>
  toolError(thrown instanceof Error && thrown.message !== '' ? thrown.message : 'The tool failed')

/** Members of each kind of content block: texts that it must have, and what it may have besides. */
const blockMembers: Readonly<Record<string, { texts: readonly string[]; optional: readonly string[] }>> = {
  text: { texts: ['text'], optional: [] },
  image: { texts: ['data', 'mimeType'], optional: [] },
  audio: { texts: ['data', 'mimeType'], optional: [] },
  resource_link: { texts: ['uri', 'name'], optional: ['title', 'description', 'mimeType', 'size', 'icons'] },
  resource: { texts: [], optional: ['resource'] },
}
const everyBlockHas = ['type', 'annotations', '_meta']

/** Has this value what a content block must have? It may have more. */
function isBlock(value: unknown): value is ContentBlock {
  if (!isObject(value) || typeof value.type !== 'string' || !Object.hasOwn(blockMembers, value.type)) return false
  const isComplete = blockMembers[value.type]?.texts.every((name) => typeof value[name] === 'string')
  return isComplete === true && (value.type !== 'resource' || isContents(value.resource))
}

/** A value that a handler wrote as a content block: one with other members is data of its own kind. */
function isPlainBlock(value: unknown): value is ContentBlock {
  if (!isBlock(value)) return false
  const members = blockMembers[value.type]
  return members !== undefined && hasOnly(value, everyBlockHas, members.texts, members.optional)
}

const isPlainBlocks = (value: unknown): value is ContentBlock[] => Array.isArray(value) && value.every(isPlainBlock)

const isContents = (value: unknown): value is ResourceContents =>
  isObject(value) && typeof value.uri === 'string' && (typeof value.text === 'string' || typeof value.blob === 'string')

const hasOnly = (value: object, ...names: (readonly string[])[]): boolean =>
  Object.keys(value).every((key) => names.some((some) => some.includes(key)))

/** Metadata under the protocol's own prefix is the server's to write, so data must not bring it. */
const isOwnMeta = (meta: unknown): meta is Meta | undefined =>
  meta === undefined || (isObject(meta) && !Object.keys(meta).some((key) => reservedPrefix.test(key)))
const reservedPrefix = /^(?:[\w-]+\.)*(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*\//i

const toolResultMembers = ['content', 'structuredContent', 'isError', '_meta'] as const
const promptResultMembers = ['description', 'messages', '_meta'] as const
const resourceResultMembers = ['contents', '_meta'] as const

/** Results that a constructor function made. Membership cannot be written into data, so no data can pass for one of them. */
class MadeResults<R extends object> {
  readonly #results = new WeakSet<object>()

  add(result: R): R {
    this.#results.add(result)
    return result
  }

  has(value: unknown): value is R {
    return typeof value === 'object' && value !== null && this.#results.has(value)
  }
}

const toolResults = new MadeResults<CallToolResult>()
const promptResults = new MadeResults<GetPromptResult>()
const resourceResults = new MadeResults<ReadResourceResult>()

/**
 * Makes a full tool result, for a tool to return. `content` defaults to none.
 *
 * @throws TypeError for other members than these four, and for content that is not a list of content blocks
 *
 * @example
 * server.tool('sold', { description: 'How much was sold' }, () =>
 *   toolResult({ content: [text('Sold 3.')], structuredContent: { sold: 3 }, _meta: { 'example.com/view': 'table' } }))
 */
export function toolResult(result: Partial<CallToolResult>): CallToolResult {
  const { content = [], structuredContent, isError, _meta } = taken('toolResult', result, toolResultMembers)
  refuseUnless(isList(content, isBlock), 'toolResult() needs "content" that is a list of content blocks')
  refuseUnless(isError === undefined || typeof isError === 'boolean', 'toolResult() needs "isError" that is a boolean')
  return toolResults.add({
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError !== undefined && { isError }),
    ...(_meta !== undefined && { _meta }),
  })
}

/**
 * Makes a full prompt result, for a prompt to return. `description` defaults to the prompt's own.
 *
 * @throws TypeError for other members than `description`, `messages` and `_meta`
 */
export function promptResult(result: GetPromptResult): GetPromptResult {
  const checked = taken('promptResult', result, promptResultMembers)
  refuseUnless(Array.isArray(checked.messages), 'promptResult() needs "messages" that are a list')
  return promptResults.add(checked)
}

/**
 * Makes a full resource result, for a resource to return.
 *
 * @throws TypeError for other members than `contents` and `_meta`, and for contents without `uri` and `text` or `blob`
 */
export function resourceResult(result: ReadResourceResult): ReadResourceResult {
  const checked = taken('resourceResult', result, resourceResultMembers)
  const problem = 'resourceResult() needs "contents" that are a list of { uri, text } or { uri, blob }'
  refuseUnless(isList(checked.contents, isContents), problem)
  return resourceResults.add(checked)
}

/** The members that a result may have. A result of another server may say that it is complete. @throws TypeError */
function taken<R extends object>(maker: string, result: R, names: readonly string[]): R {
  if (!isObject(result)) throw new TypeError(`${maker}() takes an object with ${listOf(names)}, not ${kindOf(result)}`)
  const { resultType, ...members } = result
  const other =
    resultType === undefined || resultType === 'complete'
      ? Object.keys(members).find((name) => !names.includes(name))
      : 'resultType'
  if (other !== undefined) throw new TypeError(`${maker}() does not take "${other}": it takes ${listOf(names)}`)
  const { _meta } = result
  refuseUnless(_meta === undefined || isObject(_meta), `${maker}() needs "_meta" that is an object`)
  return members as unknown as R // resultType is no member of R
}

function refuseUnless(isRight: boolean, problem: string): void {
  if (!isRight) throw new TypeError(problem)
}

const isList = (value: unknown, is: (entry: unknown) => boolean): boolean => Array.isArray(value) && value.every(is)
const listOf = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** What a value is, with an article, for errors. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'a list'
  if (typeof value !== 'object') return `a ${typeof value}`
  return `an object with the members ${Object.keys(value).slice(0, 10).join(', ') || '(none)'}`
}

/**
 * What a tool returned, as a result. What `toolResult` made is one; everything else is data. Text and content blocks become
 * content, a value of a tool with an output schema becomes structured content, and other values become their JSON. An object
 * that has only the members of a tool result, each of them valid, counts as one: SDK handlers write results like that.
 *
 * @throws Error when the value does not match the output schema, or has no JSON form: the model may read it
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
  if (isPlainBlocks(value)) return { content: value }
  if (isPlainBlock(value)) return { content: [value] }
  return { content: [jsonBlock(value, name)] }
}

const describesContent = ({ properties }: JsonSchema): boolean => isObject(properties) && 'content' in properties

/** An object that is a tool result and cannot be more: no question, no task, nothing of the protocol's own. */
const isWrittenResult = (value: unknown): value is CallToolResult =>
  isObject(value) &&
  isPlainBlocks(value.content) &&
  (value.isError === undefined || typeof value.isError === 'boolean') &&
  isOwnMeta(value._meta) &&
  hasOnly(value, toolResultMembers)

/** Returns a copy: the handler's own object is not changed. */
async function fullResult(
  result: CallToolResult,
  output: Validator | undefined,
  name: string,
): Promise<CallToolResult> {
  const full = { ...result }
  if (output && !result.isError) {
    const checked = await output.check(result.structuredContent)
    if ('issues' in checked) throw brokenOutput(name, checked.issues)
    full.structuredContent = checked.value
  }
  // For clients and models that read content only.
  if (full.structuredContent !== undefined && full.content.length === 0) {
    full.content = [jsonBlock(full.structuredContent, name)]
  }
  return full
}

/** @throws TypeError for what has no JSON form */
const jsonBlock = (value: unknown, name: string): TextContent => text(jsonText(value, `Tool "${name}" returned`) ?? '')

const brokenResult = (owner: string, value: unknown, expected: string) =>
  new McpError('internal_error', `${owner} returned ${kindOf(value)}: return ${expected}`)
const brokenOutput = (name: string, issues: Issues) =>
  new Error(`Tool "${name}" returned a value that does not match its output schema: ${issuesText(issues)}`)

/**
 * What a prompt returned, as messages: text and blocks are the user's. A full result is what `promptResult` made, or an object
 * that has only its members.
 *
 * @throws McpError `internal_error` for anything else
 */
export function getPromptResult(value: unknown, description: string | undefined, name: string): GetPromptResult {
  const result: WrittenPrompt =
    promptResults.has(value) || isWrittenPrompt(value) ? value : { messages: [value].flat() }
  return { description, ...result, messages: result.messages.map((part) => promptMessage(part, name)) }
}

/** A prompt result whose messages are still to be checked. */
type WrittenPrompt = Omit<GetPromptResult, 'messages'> & { messages: readonly unknown[] }

const isWrittenPrompt = (value: unknown): value is WrittenPrompt =>
  isObject(value) &&
  Array.isArray(value.messages) &&
  (value.description === undefined || typeof value.description === 'string') &&
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
 * What a resource returned, as contents. A full result is what `resourceResult` made, or an object that has only its members.
 *
 * @throws McpError `resource_not_found` for `undefined` and `null`; `internal_error` for what is no contents
 */
export function readResourceResult(value: unknown, uri: string, mimeType: string | undefined): ReadResourceResult {
  const full = resourceResults.has(value) || isWrittenResource(value) ? value : undefined
  const parts: readonly unknown[] = full ? full.contents : [value ?? []].flat()
  if (parts.length === 0) throw resourceNotFound(uri)
  return full ? { ...full } : { contents: parts.map((part) => contentsOf(part, uri, mimeType)) }
}

const isWrittenResource = (value: unknown): value is ReadResourceResult =>
  isObject(value) &&
  isList(value.contents, (part) => isContents(part) && hasOnly(part, contentsMembers)) &&
  isOwnMeta(value._meta) &&
  hasOnly(value, resourceResultMembers)

const contentsMembers = ['uri', 'mimeType', 'text', 'blob', '_meta']

/** Contents that may leave out what their resource says. */
type ContentsPart = { uri?: string; mimeType?: string; _meta?: Meta } & ({ text: string } | { blob: string })

const isContentsPart = (value: unknown): value is ContentsPart =>
  isObject(value) && (typeof value.text === 'string' || typeof value.blob === 'string')

function contentsOf(part: unknown, uri: string, mimeType: string | undefined): ResourceContents {
  const described = mimeType === undefined ? { uri } : { uri, mimeType }
  if (typeof part === 'string') return { ...described, text: part }
  if (part instanceof ArrayBuffer) return contentsOf(new Uint8Array(part), uri, mimeType)
  if (part instanceof Uint8Array) return { ...described, blob: encodeBase64(part) }
  // Rows of a database that happen to have a text are not contents.
  if (isContentsPart(part) && hasOnly(part, contentsMembers)) return { ...described, ...part }
  throw brokenResult(
    `Resource "${uri}"`,
    part,
    'text, bytes, { text }, { blob }, several of these, or resourceResult({ … })',
  )
}

export const resourceNotFound = (uri: string): McpError =>
  new McpError('resource_not_found', `Resource not found: ${uri}`, { uri })

/** @param maker for errors, such as `image()` */
function asBase64(data: string | Uint8Array, maker: string): string {
  checkBase64(maker, data)
  return typeof data === 'string' ? data : encodeBase64(data)
}
