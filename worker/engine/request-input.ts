/** The input requests of `ctx.elicit`, `ctx.elicitUrl`, `ctx.sample` and `ctx.roots`, and whether a client supports them. */
import type { AskOptions, ClientFeature } from '../declarations/context.ts'
import { milliseconds } from '../declarations/duration.ts'
import { canonicalJson } from '../protocol/canonical-json.ts'
import { McpError } from '../protocol/errors.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import { hasExperimentalTasks } from '../protocol/revisions/experimental-tasks.ts'
import { newestWithSessions } from '../protocol/revisions/index.ts'
import { pageUrlIn } from '../protocol/secure-url.ts'
import { sha256 } from '../protocol/sha256.ts'
import type { ClientCapabilities, InputRequest, Params } from '../protocol/types.ts'
import type { Call } from './call.ts'
import { requiredCapabilities, requiredFeatures, supportsFeature } from './client-features.ts'
import { toolImbalance } from './tool-balance.ts'

/** The input request of `ctx.roots`. */
export const rootsRequest: InputRequest = { method: 'roots/list', params: {} }

/** Identifies an input request in a journal. */
export const fingerprint = (request: InputRequest): string => sha256(canonicalJson(request))

export function samplingParams({ prompt, messages, ...rest }: Params): Params {
  const history = messages ?? [{ role: 'user', content: { type: 'text', text: prompt } }]
  return { messages: history, ...rest }
}

/** Returns why the client of a call cannot receive an input request; `undefined` if it can. */
export function problemOf(
  { capabilities, client, revision }: Call,
  key: string,
  request: InputRequest,
  canFollowTasks = false,
): Error | undefined {
  const missing = requiredFeatures(request).find((feature) => !supportsFeature(capabilities, feature))
  // Without a session, a call of an older version does not know its client.
  if (missing) return unsupported(missing, client || revision.stateless ? undefined : revision.date)
  if (!revision.ask(request)) {
    const problem = `Protocol version ${revision.date} cannot express the input request "${key}"`
    return new McpError('missing_client_capability', problem)
  }
  if (isObject(request.params?.task)) {
    const [name = '', method = ''] = request.method.split('/')
    const { requests }: NonNullable<ClientCapabilities['tasks']> = Object(capabilities.tasks)
    if (!hasExperimentalTasks(revision) || !isObject(Object(requests?.[name])[method])) {
      return new McpError(
        'missing_client_capability',
        `The task of the input request "${key}" needs a client of ${newestWithSessions.date} that supports tasks.requests.${name}.${method}`,
      )
    }
    if (!canFollowTasks)
      return new Error(`The task of the input request "${key}" needs tasks() in the plugins of serve()`)
  }
  const imbalance = request.method === 'sampling/createMessage' ? toolImbalance(request.params) : undefined
  return imbalance === undefined
    ? undefined
    : new Error(`The messages of the input request "${key}" are invalid: ${imbalance}`)
}

/** Returns the param that lets the client answer an input request with a task. */
export function taskIn({ task }: AskOptions = {}): Params {
  if (task === undefined) return {}
  return { task: task.ttl === undefined ? {} : { ttl: milliseconds(task.ttl, 'task.ttl') } }
}

/** @param version of a client without a session; `undefined` for others */
const unsupported = (feature: ClientFeature, version: string | undefined) =>
  new McpError(
    'missing_client_capability',
    version === undefined
      ? `This call needs a client that supports ${feature}`
      : `This call needs a client that supports ${feature}, and clients of ${version} answer in sessions only: see sessions()`,
    { requiredCapabilities: requiredCapabilities(feature) },
  )

/** @throws Error for a URL that is not https, or contains credentials */
export function pageUrl(key: string, text: string | URL): string {
  const page = pageUrlIn(String(text))
  if (page !== undefined) return page
  const url = URL.parse(String(text))
  // Neither the path nor the credentials: the model may see this.
  const label = url ? `${url.protocol}${url.host && `//${url.host}`}` : 'an invalid URL'
  throw new Error(
    `Cannot send the user to ${label} with ctx.elicitUrl("${key}", …): use an https URL (or http on localhost) without a user name and a password`,
  )
}
