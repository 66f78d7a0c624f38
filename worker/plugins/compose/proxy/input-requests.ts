/** Validates input requests of upstreams, as `ctx.elicit`, `ctx.elicitUrl` and `ctx.sample` validate those of handlers. */
import { toolImbalance } from '../../../engine/tool-balance.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { isSecureUrl } from '../../../protocol/secure-url.ts'
import type { Params } from '../../../protocol/types.ts'

export const roles: ReadonlySet<unknown> = new Set(['user', 'assistant'])
export const isBlock = (value: unknown): value is Params => isObject(value) && typeof value.type === 'string'

/** Returns the problem of an input request; `undefined` without a problem. */
export function inputRequestProblem(request: unknown): string | undefined {
  if (!isObject(request)) return 'must be an object'
  const { method, params = {} } = request
  if (!isObject(params)) return 'must have params that are an object'
  if (method === 'roots/list') return undefined
  if (method === 'sampling/createMessage') return samplingProblem(params)
  if (method !== 'elicitation/create') return 'must be elicitation/create, sampling/createMessage or roots/list'
  if (typeof params.message !== 'string') return 'must have a message'
  const { mode = 'form' } = params
  if (mode === 'url') return isPage(params.url) ? undefined : `must have ${pageRule}`
  return mode === 'form' ? formProblem(params.requestedSchema) : 'must have the mode "form" or "url"'
}

const pageRule = 'an https URL (or http on localhost) without a user name and a password'
function isPage(text: unknown): boolean {
  const url = typeof text === 'string' && isSecureUrl(text) ? URL.parse(text) : null
  return url !== null && !url.username && !url.password
}

/** @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema */
function formProblem(schema: unknown): string | undefined {
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) {
    return 'must have a requestedSchema with the type "object" and properties'
  }
  const bad = Object.entries(schema.properties).find(([, field]) => !isField(field))
  return bad && `must not ask for "${bad[0]}": a form has texts, numbers, booleans, or choices among texts`
}

const plainTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])
const isChoice = ({ enum: texts, oneOf, anyOf }: Params) => [texts, oneOf, anyOf].some(Array.isArray)
function isField(field: unknown): boolean {
  if (!isObject(field)) return false
  if (field.type === 'array') return isObject(field.items) && isChoice(field.items)
  return plainTypes.has(field.type) || (field.type === undefined && isChoice(field))
}

function samplingProblem(params: Params): string | undefined {
  const { messages, tools, maxTokens } = params
  if (!Array.isArray(messages) || !messages.every(isSamplingMessage)) {
    return 'must have messages with a role and content'
  }
  if (typeof maxTokens !== 'number') return 'must have maxTokens'
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isObject))) return 'must have tools that are a list'
  const problem = toolImbalance(params)
  return problem && `is not balanced: ${problem}`
}

const isSamplingMessage = (message: unknown): boolean =>
  isObject(message) && roles.has(message.role) && [message.content].flat().every(isBlock)
