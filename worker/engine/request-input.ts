/** The input requests of `ctx.elicit`, `ctx.elicitUrl`, `ctx.sample` and `ctx.roots`, and whether a client supports them. */
import type { ClientFeature, SamplingRequest } from '../declarations/context.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { McpError } from '../protocol/errors.ts'
import { isLoopback } from '../protocol/loopback.ts'
import { sha256 } from '../protocol/sha256.ts'
import type { InputRequest, Params } from '../protocol/types.ts'
import type { Call } from './call.ts'
import { requiredCapabilities, requiredFeatures, supportsFeature } from './features.ts'
import { toolImbalance } from './tool-balance.ts'

/** The input request of `ctx.roots`. */
export const rootsRequest: InputRequest = { method: 'roots/list', params: {} }

/** Identifies an input request in a journal. */
export const fingerprint = (request: InputRequest): string => sha256(canonicalJson(request))

export function samplingParams({ prompt, messages, ...rest }: SamplingRequest): Params {
  const history = messages ?? [{ role: 'user', content: { type: 'text', text: prompt } }]
  return { messages: history, ...rest }
}

/** Returns why the client of a call cannot receive an input request; `undefined` if it can. */
export function problemOf({ capabilities, revision }: Call, key: string, request: InputRequest): Error | undefined {
  const missing = requiredFeatures(request).find((feature) => !supportsFeature(capabilities, feature))
  if (missing) return unsupported(missing)
  if (!revision.ask(request)) {
    const problem = `Protocol version ${revision.date} cannot express the input request "${key}"`
    return new McpError('missing_client_capability', problem)
  }
  const imbalance = request.method === 'sampling/createMessage' ? toolImbalance(request.params) : undefined
  return imbalance === undefined
    ? undefined
    : new Error(`The messages of the input request "${key}" are invalid: ${imbalance}`)
}

const unsupported = (feature: ClientFeature) =>
  new McpError('missing_client_capability', `This call needs a client that supports ${feature}`, {
    requiredCapabilities: requiredCapabilities(feature),
  })

/** @throws Error for a URL that is not https, or contains credentials */
export function pageUrl(key: string, text: string | URL): string {
  const url = URL.parse(String(text))
  const isWeb = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url && isWeb && !url.username && !url.password) return url.href
  // Neither the path nor the credentials: the model may see this.
  const label = url ? `${url.protocol}${url.host && `//${url.host}`}` : 'an invalid URL'
  throw new Error(
    `Cannot send the user to ${label} with ctx.elicitUrl("${key}", …): use an https URL (or http on localhost) without a user name and a password`,
  )
}
