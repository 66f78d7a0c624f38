/** Content blocks, and how what a handler returns becomes what the protocol wants. */
import { encodeBase64 } from '../protocol/base64.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type {
  AudioContent,
  CallToolResult,
  ContentBlock,
  EmbeddedResource,
  GetPromptResult,
  ImageContent,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  ResourceItem,
  ResourceLink,
  TextContent,
} from '../protocol/types.ts'
import { checks } from './checking.ts'
import { type Issues, issuesText, type Validator } from './schema.ts'

export const text = (value: string): TextContent => ({ type: 'text', text: value })

/** @param data the picture's bytes, or their base64 */
export const image = (data: string | Uint8Array, mimeType: string): ImageContent => ({
  type: 'image',
  data: asBase64(data),
  mimeType,
})

/** @param data the sound's bytes, or their base64 */
export const audio = (data: string | Uint8Array, mimeType: string): AudioContent => ({
  type: 'audio',
  data: asBase64(data),
  mimeType,
})

/** A link that the client may read. The resource need not be listed. */
export const link = (uri: string, item: Omit<ResourceItem, 'uri'>): ResourceLink => ({
  type: 'resource_link',
  uri,
  ...item,
})

/** A resource carried inside the answer. */
export const embed = (resource: ResourceContents): EmbeddedResource => ({ type: 'resource', resource })

/** A tool result that tells the model what went wrong. */
export const failure = (message: string): CallToolResult => ({ content: [text(message)], isError: true })

/** What the model is told of anything that a tool threw. */
export const failureOf = (thrown: unknown): CallToolResult =>
  failure(thrown instanceof Error && thrown.message !== '' ? thrown.message : 'The tool failed')

const blockTypes = new Set(['text', 'image', 'audio', 'resource_link', 'resource'])
const isBlock = (value: unknown): value is ContentBlock => isObject(value) && blockTypes.has(String(value.type))
const isBlocks = (value: unknown): value is ContentBlock[] => Array.isArray(value) && value.every(isBlock)

/**
 * What a tool returned, as a result: text, content blocks and full results as they are; the output value checked
 * against the tool's output schema and repeated as text for clients that know no structured content.
 *
 * @throws McpError `internal_error` when the value is not what the tool declared
 */
export async function toolResult(value: unknown, output: Validator | undefined): Promise<CallToolResult> {
  if (output) {
    const checked = await output.check(value)
    if ('value' in checked) return structured(checked.value)
    if (!isFullResult(value)) throw brokenOutput(checked.issues)
    if (value.isError) return value
    const inner = await output.check(value.structuredContent)
    if ('issues' in inner) throw brokenOutput(inner.issues)
    return { ...value, structuredContent: inner.value }
  }
  if (value === undefined || value === null) return { content: [] }
  if (typeof value === 'string') return { content: [text(value)] }
  if (isFullResult(value)) return value
  if (isBlocks(value)) return { content: value }
  if (isBlock(value)) return { content: [value] }
  const json: string | undefined = JSON.stringify(value)
  if (json === undefined) throw brokenResult('tool', value)
  return { content: [text(json)] }
}

const structured = (value: unknown): CallToolResult => ({
  content: [text(JSON.stringify(value))],
  structuredContent: value,
})

const isFullResult = (value: unknown): value is CallToolResult => isObject(value) && isBlocks(value.content)

const brokenResult = (kind: 'tool' | 'prompt' | 'resource', value?: unknown) =>
  new McpError('internal_error', checks?.returned(kind, value) ?? `The ${kind} did not return a result`)
const brokenOutput = (issues: Issues) =>
  new McpError('internal_error', `The tool returned something other than its output schema says: ${issuesText(issues)}`)

/** What a prompt returned, as messages: text and blocks are said by the user. */
export function promptResult(value: unknown, description: string | undefined): GetPromptResult {
  const result = isObject(value) && Array.isArray(value.messages) ? value : { messages: [value].flat() }
  return { description, ...result, messages: (result.messages as unknown[]).map(promptMessage) }
}

function promptMessage(part: unknown): PromptMessage {
  if (typeof part === 'string') return { role: 'user', content: text(part) }
  if (isBlock(part)) return { role: 'user', content: part }
  const isMessage = isObject(part) && (part.role === 'user' || part.role === 'assistant') && isBlock(part.content)
  if (isMessage) return part as unknown as PromptMessage
  throw brokenResult('prompt')
}

/**
 * What a resource returned, as contents.
 *
 * @throws McpError `resource_not_found` for `undefined` and `null`
 */
export function resourceResult(value: unknown, uri: string, mimeType: string | undefined): ReadResourceResult {
  const full = isObject(value) && Array.isArray(value.contents) ? (value as unknown as ReadResourceResult) : undefined
  const parts: readonly unknown[] = full ? full.contents : [value ?? []].flat()
  if (parts.length === 0) throw resourceNotFound(uri)
  return full ?? { contents: parts.map((part) => contentsOf(part, uri, mimeType)) }
}

function contentsOf(part: unknown, uri: string, mimeType: string | undefined): ResourceContents {
  const described = mimeType === undefined ? { uri } : { uri, mimeType }
  if (typeof part === 'string') return { ...described, text: part }
  if (part instanceof ArrayBuffer) return contentsOf(new Uint8Array(part), uri, mimeType)
  if (part instanceof Uint8Array) return { ...described, blob: encodeBase64(part) }
  if (isObject(part) && (typeof part.text === 'string' || typeof part.blob === 'string')) {
    return { ...described, ...(part as Partial<ResourceContents>) } as ResourceContents
  }
  throw brokenResult('resource')
}

export const resourceNotFound = (uri: string): McpError =>
  new McpError('resource_not_found', `Resource not found: ${uri}`, { uri })

const asBase64 = (data: string | Uint8Array): string => (typeof data === 'string' ? data : encodeBase64(data))
