/** The caller of a call, as the functions of declarations get it. */
import type { Caller, CallerContext } from '../declarations/caller.ts'
import { emptyContext } from '../declarations/request-context.ts'
import type { HandleState, KeyedState } from '../declarations/state.ts'
import { networkOf } from '../protocol/ip-address.ts'
import { ownerKey } from '../protocol/principal.ts'
import type { Call, CallEnvironment } from './call.ts'
import { supportsFeature } from './client-features.ts'

/** What is known of a caller. */
export type KnownCaller = Pick<Call, 'principal' | 'client' | 'capabilities' | 'request'> &
  Partial<Pick<Call, 'requestContext'>> & { readonly protocolVersion: string | undefined }

export const callerOf = ({
  principal,
  client,
  capabilities,
  requestContext = emptyContext,
  request,
  protocolVersion,
}: KnownCaller): Caller => ({
  principal,
  client,
  supports: (feature) => supportsFeature(capabilities, feature),
  requestContext,
  request,
  protocolVersion,
})

/**
 * Names who is at fault when another server does not answer, for its circuit breaker: the user, at all endpoints, or the network of an
 * anonymous caller.
 */
export const partyOf = ({
  principal,
  request,
}: Pick<Caller, 'principal'> & Partial<Pick<Caller, 'request'>>): string =>
  principal ? ownerKey(principal, undefined) : networkOf(request?.address ?? '')

/** @param environment of the place where the function runs */
export function callerContextOf(
  call: Call,
  { signal, state, seals }: Pick<CallEnvironment, 'signal' | 'state' | 'seals'>,
): CallerContext {
  return {
    ...callerOf({ ...call, protocolVersion: call.revision.date }),
    session: call.session,
    state: <T>(of: KeyedState<T> | HandleState<T>, handle = '') =>
      of.open({ ...state, ...seals, principal: call.principal }, handle),
    get signal() {
      return signal()
    },
  }
}
