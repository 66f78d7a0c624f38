import type { Caller } from '../../../declarations/caller.ts'
import type { Declarations } from '../../../declarations/declarations.ts'
import type { HeadersContext } from '../../../declarations/upstream-options.ts'
import { capabilitiesOf } from '../../../engine/methods/discover.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import { McpError } from '../../../protocol/errors.ts'
import type { ServerCapabilities } from '../../../protocol/types.ts'
import { withTimeout } from './deadlines.ts'
import { type Feature, features, type Offered } from './offered.ts'
import type { Proxied } from './proxied.ts'

/** Milliseconds that the first request of a client waits for the capabilities of an upstream. */
const timeoutMs = 5_000

/** An upstream may respond later, when the client no longer reads capabilities. Nearly every server has tools. */
const assumed: Offered = new Set(['tools'])

/** Returns the capabilities of upstreams that this server lacks. @param hasUpdates whether clients receive change notifications */
export async function upstreamCapabilities(
  declarations: Declarations,
  proxies: readonly Proxied[],
  caller: Omit<HeadersContext, 'signal'>,
  hasUpdates = false,
): Promise<ServerCapabilities> {
  const ownServer = capabilitiesOf(declarations, { updates: false })
  const all = await Promise.all(proxies.map((proxied) => offeredBy(proxied, caller, declarations)))
  const capabilities = features.filter((feature) => !ownServer[feature] && all.some((offered) => offered.has(feature)))
  return Object.fromEntries(
    capabilities.map((feature) => [feature, hasUpdates && feature !== 'completions' ? { listChanged: true } : {}]),
  )
}

async function offeredBy(
  proxied: Proxied,
  caller: Omit<HeadersContext, 'signal'>,
  declarations: Declarations,
): Promise<Offered> {
  try {
    return await proxied.offered({ ...caller, signal: AbortSignal.timeout(timeoutMs) }, declarations)
  } catch (problem) {
    console.error(problem)
    return assumed
  }
}

/** Whether an upstream offers a feature to a call, which uses the sessions of the call. */
export async function isOffered(
  context: MethodContext,
  feature: Feature,
  proxies: readonly Proxied[],
): Promise<boolean> {
  const signal = withTimeout(context.context.signal, timeoutMs)
  const isOfferedBy = (proxied: Proxied) =>
    proxied.offers(context, feature, signal).catch((problem) => {
      context.environment.report(problem)
      return assumed.has(feature)
    })
  return (await Promise.all(proxies.map(isOfferedBy))).includes(true)
}

/** Describes the caller of `initialize`, whose session does not exist yet. */
export const startingCaller = (caller: Caller): Omit<HeadersContext, 'signal'> => ({
  ...caller,
  session: undefined,
  state: () => {
    throw new McpError(
      'internal_error',
      '"headers" of proxy() cannot read state while a session starts: use requestContext',
    )
  },
})
