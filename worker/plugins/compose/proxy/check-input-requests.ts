/** Validates input requests of upstreams: what `ctx.elicit`, `ctx.elicitUrl` and `ctx.sample` could send, with members that clients accept. */

import { type Kind, type Kinds, preview } from '../../../declarations/check-options.ts'
import { readForeignBlock } from '../../../declarations/content.ts'
import { fieldSchema } from '../../../declarations/form.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { readOptional } from '../../../declarations/optional-members.ts'
import { objects, ofSampling } from '../../../engine/sampling-members.ts'
import { toolImbalance } from '../../../engine/tool-balance.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { relatedTaskKey } from '../../../protocol/meta.ts'
import { roles } from '../../../protocol/roles.ts'
import { pageUrlIn } from '../../../protocol/secure-url.ts'
import type { Params } from '../../../protocol/types.ts'
import { readEntry } from './check-entries.ts'
import { mendValue } from './mend-values.ts'

/** An input request that this server does not pass on. */
export class InvalidInputRequest extends Error {}

const invalid = (owner: string, problem: string) => new InvalidInputRequest(`${owner} ${problem}`)

const number: Kind = [Number.isFinite, 'a number']
const _meta = kind.object()

const ofElicitation: Kinds = {
  _meta,
  mode: kind.string,
  message: kind.string,
  url: kind.string,
  elicitationId: kind.string,
  requestedSchema: kind.object({ $schema: kind.string, required: kind.strings }),
}

const options = objects({ const: kind.required(kind.string), title: kind.string })
const choices: Kinds = {
  type: kind.string,
  enum: kind.strings,
  enumNames: kind.strings,
  oneOf: options,
  anyOf: options,
}
const described: Kinds = { title: kind.string, description: kind.string, type: kind.string }
const ofNumber: Kinds = { ...described, minimum: number, maximum: number, default: number }
const ofString: Kinds = {
  ...described,
  ...choices,
  minLength: number,
  maxLength: number,
  format: kind.string,
  default: kind.string,
}
/** Members of a field of a form, by its type. */
const ofFields: ReadonlyMap<unknown, Kinds> = new Map<unknown, Kinds>([
  ['string', ofString],
  ['number', ofNumber],
  ['integer', ofNumber],
  ['boolean', { ...described, default: kind.flag }],
  ['array', { ...described, minItems: number, maxItems: number, items: kind.object(choices), default: kind.strings }],
])

const text = kind.required(kind.string)
const ofToolUse: Kinds = { id: text, name: text, input: kind.required(kind.object()), _meta }
const ofToolResult: Kinds = { toolUseId: text, content: objects(), isError: kind.flag, _meta }
const media: ReadonlySet<unknown> = new Set(['text', 'image', 'audio'])

/** Returns params or a result of an upstream without the task that they belong to: a client would take it for a task of this server. */
export function withoutTask<V extends Params>(value: V): V {
  if (!isObject(value._meta)) return value
  const { [relatedTaskKey]: _, ...meta } = value._meta
  return { ...value, _meta: meta }
}

/**
 * Returns an input request without members that are `null`, at each level, which several SDKs write for absent ones.
 *
 * @throws InvalidInputRequest that names the member, or what the request must have
 */
export function readInputRequest(key: string, request: unknown): Params {
  const owner = `the input request ${preview(key)}`
  const fail = (problem: string | undefined) => {
    if (problem !== undefined) throw invalid(owner, problem)
  }
  if (!isObject(request)) throw invalid(owner, 'must be an object')
  const { method, params } = readOptional(request, { params: kind.object() }, owner, '', InvalidInputRequest)
  const given = isObject(params) ? withoutTask(params) : {}
  if (method === 'roots/list') return { method, ...(params !== undefined && { params: given }) }
  // What must be there is known before members are read.
  if (method === 'elicitation/create') {
    const read = readElicitation(given, owner)
    fail(elicitationProblem(read))
    return { method, params: read }
  }
  if (method !== 'sampling/createMessage')
    throw invalid(owner, 'must be elicitation/create, sampling/createMessage or roots/list')
  fail(samplingProblem(given))
  const read = readSampling(given, owner)
  const imbalance = toolImbalance(read)
  fail(imbalance && `is not balanced: ${imbalance}`)
  return { method, params: read }
}

function readElicitation(params: Params, owner: string): Params {
  const read = readOptional(params, ofElicitation, owner, '', InvalidInputRequest)
  const { requestedSchema: schema } = read
  if (!isObject(schema) || !isObject(schema.properties)) return read
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, readField(name, field, owner)])
  return { ...read, requestedSchema: { ...schema, properties: Object.fromEntries(fields) } }
}

/** Returns a field with the members that `ctx.elicit` could send: unknown formats are left out, for example. */
function readField(name: string, field: unknown, owner: string): unknown {
  if (!isObject(field) || !isField(field)) return field
  const { type = 'string' } = field
  const path = `requestedSchema.properties.${name}.`
  const read: Params = readOptional({ ...field, type }, ofFields.get(type) ?? {}, owner, path, InvalidInputRequest)
  return fieldSchema(read)
}

function readSampling(params: Params, owner: string): Params {
  const read: Params = readOptional(params, { ...ofSampling, tools: objects() }, owner, '', InvalidInputRequest)
  const tools = Array.isArray(read.tools) ? { tools: read.tools.map((tool) => readTool(tool, owner)) } : {}
  const messages = Array.isArray(read.messages) ? read.messages.filter(isObject) : []
  return {
    ...read,
    ...tools,
    messages: messages.map((message, index) => {
      const path = `messages[${index}].content.`
      const { content } = message
      const block = (each: unknown) => readContent(isObject(each) ? each : {}, owner, path)
      const meta = readOptional(message, { _meta }, owner, `messages[${index}].`, InvalidInputRequest)
      return { ...meta, content: Array.isArray(content) ? content.map(block) : block(content) }
    }),
  }
}

function readTool(tool: unknown, owner: string): Params {
  const read = readEntry('tools', tool)
  if ('entry' in read) return read.entry
  throw invalid(owner, `has an invalid tool: ${read.problem}`)
}

function readContent(block: Params, owner: string, path: string): Params {
  const { type } = block
  if (type === 'tool_use') return readOptional(block, ofToolUse, owner, path, InvalidInputRequest)
  if (type === 'tool_result') {
    const read: Params = readOptional(block, ofToolResult, owner, path, InvalidInputRequest)
    const content = Array.isArray(read.content) ? read.content.filter(isObject) : []
    const readInner = (each: Params) => readForeignBlock(mendValue(each), owner, `${path}content.`, InvalidInputRequest)
    return { ...read, content: content.map(readInner) }
  }
  if (media.has(type)) return readForeignBlock(mendValue(block), owner, path, InvalidInputRequest)
  throw invalid(owner, 'must have texts, images, audio, tool calls and their results as content')
}

/** Returns the problem of an elicitation; `undefined` without a problem. */
function elicitationProblem(params: Params): string | undefined {
  if (typeof params.message !== 'string') return 'must have a message'
  const { mode = 'form' } = params
  if (mode === 'url') return isPage(params.url) ? undefined : `must have ${pageRule}`
  return mode === 'form' ? formProblem(params.requestedSchema) : 'must have the mode "form" or "url"'
}

const pageRule = 'an https URL (or http on localhost) without a user name and a password'
const isPage = (text: unknown): boolean => typeof text === 'string' && pageUrlIn(text) !== undefined

/** @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema */
function formProblem(schema: unknown): string | undefined {
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) {
    return 'must have a requestedSchema with the type "object" and properties'
  }
  const bad = Object.entries(schema.properties).find(([, field]) => !isField(field))
  return bad && `must not ask for ${preview(bad[0])}: a form has texts, numbers, booleans, or choices among texts`
}

const plainTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])
const isChoice = ({ enum: texts, oneOf, anyOf }: Params) => [texts, oneOf, anyOf].some(Array.isArray)
function isField(field: unknown): boolean {
  if (!isObject(field)) return false
  if (field.type === 'array') return isObject(field.items) && isChoice(field.items)
  return plainTypes.has(field.type) || (field.type === undefined && isChoice(field))
}

function samplingProblem({ messages, maxTokens }: Params): string | undefined {
  if (!Array.isArray(messages) || !messages.every(isSamplingMessage)) {
    return 'must have messages with a role and content'
  }
  return kind.count[0](maxTokens) ? undefined : 'must have maxTokens, a whole number of 1 or more'
}

const isSamplingMessage = (message: unknown): boolean =>
  isObject(message) && roles.has(message.role) && [message.content].flat().every(isObject)
