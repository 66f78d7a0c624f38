import type { HeadersContext } from '../../../declarations/upstream-options.ts'
import { callerContextOf } from '../../../engine/caller.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import { type Principal, principalKey } from '../../../protocol/principal.ts'
import { deadlineOf } from './deadlines.ts'
import type { ProxyOptions } from './proxy-options.ts'
import type { RemoteCaller } from './send-request.ts'
import { readHeaders, type UpstreamHeaders, waitForHeaders } from './upstream-headers.ts'
import { headersKey } from './upstream-sessions.ts'

/** Keys of upstream sessions for one call: without a principal, and without a session of this server. */
const callKeys = new WeakMap<object, string>()
let callCount = 0

/** Whether the upstream session of a caller is for one call only. */
export const isOfOneCall = ({ sessionKey }: RemoteCaller): boolean => sessionKey.startsWith('call ')

/** Describes the callers of this server to an upstream: their headers, and their sessions there. */
export class UpstreamCallers {
  readonly #what: string
  readonly #options: Required<Pick<ProxyOptions, 'headers' | 'sharedSessions'>>
  /** The headers of each round of a call, by its `roundEnded`: all requests of a round have the same. */
  readonly #headersOfRounds = new WeakMap<MethodContext['roundEnded'], Promise<UpstreamHeaders>>()

  /** @param what names the proxy */
  constructor(what: string, options: Required<Pick<ProxyOptions, 'headers' | 'sharedSessions'>>) {
    this.#what = what
    this.#options = options
  }

  /** Returns a caller whose call has not started: it has no upstream session yet, unless its principal has one. */
  async starting(reader: HeadersContext, signal: AbortSignal): Promise<RemoteCaller> {
    const headers = await waitForHeaders(this.#readHeaders({ ...reader, signal }), signal, this.#what)
    const sessionKey = this.#sharedKey(reader.principal, headers) ?? newCallKey()
    return { sessionKey, headers, capabilities: {}, signal, untilMs: deadlineOf(signal) }
  }

  async of(context: MethodContext, signal: AbortSignal): Promise<RemoteCaller> {
    const { call, environment } = context
    const { roots, sampling, elicitation } = call.capabilities
    const headers = await this.headers(context, signal)
    const own = call.session && JSON.stringify(['session', call.session.id])
    return {
      sessionKey: this.#sharedKey(call.principal, headers) ?? own ?? callKeyOf(environment),
      capabilities: { roots, sampling, elicitation }, // undefined members are left out as JSON
      headers,
      signal,
      untilMs: deadlineOf(signal),
    }
  }

  /** Returns the headers for the upstream. Calls the option once for each round of a call. @throws see `waitForHeaders` */
  headers({ call, environment, roundEnded }: MethodContext, signal: AbortSignal): Promise<UpstreamHeaders> {
    const caller = () => callerContextOf(call, { ...environment, signal: () => signal })
    const reading = this.#headersOfRounds.get(roundEnded) ?? this.#readHeaders(caller())
    this.#headersOfRounds.set(roundEnded, reading)
    return waitForHeaders(reading, signal, this.#what)
  }

  /** Returns the key of the upstream session that a call has for itself. */
  keyOfCall(environment: object): string | undefined {
    return callKeys.get(environment)
  }

  #readHeaders(caller: HeadersContext): Promise<UpstreamHeaders> {
    return readHeaders(() => this.#options.headers(caller))
  }

  /** Returns the key of an upstream session that several calls may use; `undefined` without a principal. */
  #sharedKey(principal: Principal | undefined, headers: UpstreamHeaders): string | undefined {
    if (this.#options.sharedSessions) return JSON.stringify(['headers', headersKey(headers)])
    return principal && JSON.stringify(['principal', principalKey(principal)])
  }
}

function callKeyOf(environment: object): string {
  const key = callKeys.get(environment) ?? newCallKey()
  callKeys.set(environment, key)
  return key
}

function newCallKey(): string {
  callCount += 1
  return `call ${callCount}`
}
