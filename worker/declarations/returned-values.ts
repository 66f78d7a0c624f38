/** The conversion of the value that a handler returned into the result of its method. */
import { encodeBase64 } from '../protocol/base64.ts'
import { DeveloperError, McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { roles } from '../protocol/roles.ts'
import type {
  CallToolResult,
  GetPromptResult,
  JsonSchema,
  Meta,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  TextContent,
} from '../protocol/types.ts'
import { type Kinds, wrongValue } from './check-options.ts'
import {
  type ContentsPart,
  hasOnly,
  isBlock,
  isContents,
  isContentsPart,
  isPlainBlock,
  isPlainBlocks,
  readBlock,
  text,
} from './content.ts'
import * as kind from './option-kinds.ts'
import { ofContents, readOptional } from './optional-members.ts'
import {
  kindOf,
  promptResultMembers,
  promptResults,
  resourceResultMembers,
  resourceResults,
  toolResultMembers,
  toolResults,
} from './result-constructors.ts'
import { type Issues, issuesText, type Validator } from './schema.ts'

/** Whether `_meta` has no key with a prefix that MCP reserves. Only the server may write those keys. */
const isOwnMeta = (meta: unknown): meta is Meta | undefined | null => {
  const own = meta ?? {}
  return isObject(own) && !Object.keys(own).some((key) => reservedPrefix.test(key))
}
const reservedPrefix = /^(?:[\w-]+\.)*(?:modelcontextprotocol|mcp)(?:\.[\w-]+)*\//i
/** Optional members of results. */
const ofResult: Kinds = { isError: kind.flag, description: kind.string, _meta: kind.object() }

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
  isObject(value) && roles.has(value.role) && isBlock(value.content)

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

const ofFullContents: Kinds = { ...ofContents, uri: kind.required(kind.string) }

const isPlainPart = (part: object): boolean => hasOnly(part, Object.keys(ofContents))

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
