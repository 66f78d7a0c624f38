/**
 * Checks the arguments of the members of `ctx`, as their types do: an error names the argument, and what was expected. A production bundle does
 * not contain this module: there, a wrong argument fails where it is used, or in the client.
 */
import { checkObject, checkValue, isObject, type Kind } from '../declarations/check-options.ts'
import type { ClientFeature } from '../declarations/context.ts'
import * as kind from '../declarations/option-kinds.ts'
import { roles } from '../protocol/roles.ts'

/** @param owner the call, for the error */
export function checkElicit(owner: string, message: unknown, schema: unknown): void {
  checkValue(owner, 'message', message, kind.string)
  checkValue(owner, 'schema', schema, [
    (value) => typeof value === 'function' || isObject(value),
    'a schema such as z.object({ name: z.string() })',
  ])
}

/** @param owner the call, for the error */
export function checkElicitUrl(owner: string, message: unknown, url: unknown): void {
  checkValue(owner, 'message', message, kind.string)
  checkValue(owner, 'url', url, [(value) => typeof value === 'string' || value instanceof URL, 'a URL, or its text'])
}

const number: Kind = [(value) => typeof value === 'number', 'a number']

const samplingMessages: Kind = [
  (value) =>
    kind.isListOf(
      value,
      (message) => isObject(message) && roles.has(message.role) && [message.content].flat().every(isObject),
    ),
  "a list of messages such as { role: 'user', content: { type: 'text', text: 'Hi' } }",
]

const samplingTools: Kind = [
  (value) =>
    kind.isListOf(value, (tool) => isObject(tool) && typeof tool.name === 'string' && isObject(tool.inputSchema)),
  "a list of tools such as { name: 'add', inputSchema: { type: 'object' } }",
]

/** @param owner the call, for the error */
export function checkSample(owner: string, request: unknown): void {
  checkObject(owner, 'request', request, "an object such as { prompt: 'Say hi', maxTokens: 100 }")
  const { prompt, messages, maxTokens, tools = [] } = request
  checkValue(owner, 'maxTokens', maxTokens, kind.count)
  checkValue(owner, 'tools', tools, samplingTools)
  if (messages === undefined) checkValue(owner, 'prompt', prompt, [kind.string[0], 'a string, or give it messages'])
  else checkValue(owner, 'messages', messages, samplingMessages)
}

export function checkInputRequests(requests: unknown): void {
  const example = "{ method: 'elicitation/create', params: { … } }"
  checkObject('ctx.requestInput()', 'requests', requests, `an object such as { name: ${example} }`)
  for (const [key, request] of Object.entries(requests)) {
    checkValue('ctx.requestInput()', key, request, [isInputRequest, `a request such as ${example}`])
    if (isObject(request) && request.method === 'sampling/createMessage' && isObject(request.params)) {
      checkValue(`ctx.requestInput({ ${key} })`, 'messages', request.params.messages, samplingMessages)
    }
  }
}

const methods: ReadonlySet<unknown> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

const isInputRequest = (value: unknown): boolean =>
  isObject(value) &&
  methods.has(value.method) &&
  (isObject(value.params) || (value.params === undefined && value.method === 'roots/list'))

export const checkEffect = (key: string, effect: unknown): void =>
  checkValue(`ctx.once("${key}", …)`, 'effect', effect, kind.fn)

const state = kind.having('open', 'what state() of "edgemcp/state" returned')

/** @param method the member of `ctx`, for the error */
export const checkState = (method: string, of: unknown): void => checkValue(`ctx.${method}()`, 'of', of, state)

/** Each `ClientFeature`. */
export const clientFeatures: ReadonlySet<unknown> = new Set(
  Object.keys({
    elicitation: true,
    'elicitation.url': true,
    sampling: true,
    'sampling.tools': true,
    'sampling.context': true,
    roots: true,
    'tasks.requests.elicitation.create': true,
    'tasks.requests.sampling.createMessage': true,
  } satisfies Record<ClientFeature, true>),
)

const feature: Kind = [(value) => clientFeatures.has(value), `one of ${[...clientFeatures].join(', ')}`]

export const checkFeature = (value: unknown): void => checkValue('ctx.supports()', 'feature', value, feature)

export function checkProgress(progress: unknown, total: unknown, message: unknown): void {
  checkValue('ctx.progress()', 'progress', progress, number)
  if (total !== undefined) checkValue('ctx.progress()', 'total', total, number)
  if (message !== undefined) checkValue('ctx.progress()', 'message', message, kind.string)
}
