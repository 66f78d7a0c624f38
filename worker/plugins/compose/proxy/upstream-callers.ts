import { newReceived, type Received, ReceivedByPost } from '../../../client/received.ts'
import type { Declarations } from '../../../declarations/declarations.ts'
import type { HeadersContext } from '../../../declarations/upstream-options.ts'
import { UpstreamToken } from '../../../declarations/upstream-token.ts'
import { callerContextOf, partyOf } from '../../../engine/caller.ts'
import type { MethodContext } from '../../../engine/methods/method.ts'
import { McpError, ToolError } from '../../../protocol/errors.ts'
import { clientKey, type Principal } from '../../../protocol/principal.ts'
import { deadlineOf } from './deadlines.ts'
import type { ProxyOptions } from './proxy-options.ts'
import type { RemoteCaller } from './send-request.ts'
import type { TokenRefused } from './upstream-errors.ts'
import { readHeaders, type UpstreamHeaders, waitForHeaders } from './upstream-headers.ts'
import { headersKey } from './upstream-sessions.ts'

/** Keys of upstream sessions for one call: without a principal, and without a session of this server. */
const callKeys = new WeakMap<object, string>()
let callCount = 0

/** Whether the upstream session of a caller is for one call only. */
export const isOfOneCall = ({ sessionKey }: RemoteCaller): boolean => sessionKey.startsWith('call ')

/** Returns the object that all calls of a POST share; for a call without a POST, one that its round has alone. */
export const postOf = ({ environment, roundEnded }: MethodContext): object => environment.post ?? roundEnded

type CallerOptions = Required<Pick<ProxyOptions, 'headers' | 'sharedSessions'>> & Pick<ProxyOptions, 'upstream'>

/** Describes the callers of this server to an upstream: their headers, and their sessions there. */
export class UpstreamCallers {
  readonly #what: string
  readonly #options: CallerOptions
  /** The headers of each round of a call, by its `roundEnded`: all requests of a round have the same. */
  readonly #headersOfRounds = new WeakMap<MethodContext['roundEnded'], Promise<UpstreamHeaders>>()

  /** The tokens of each round of a call that asks for one. */
  readonly #tokens = new WeakMap<MethodContext['roundEnded'], UpstreamToken>()

  /** The tokens of each round that does not ask for one. */
  readonly #quietTokens = new WeakMap<MethodContext['roundEnded'], UpstreamToken>()

  readonly #received = new ReceivedByPost()

  /** @param what names the proxy */
  constructor(what: string, options: CallerOptions) {
    this.#what = what
    this.#options = options
  }

  /** Returns a caller whose call has not started: it has no upstream session yet, unless its principal has one. */
  async starting(reader: HeadersContext, signal: AbortSignal, declarations: Declarations): Promise<RemoteCaller> {
    const { upstream } = this.#options
    const token = upstream === undefined ? undefined : quietToken(reader, declarations, upstream)
    const reading = withToken(this.#readHeaders({ ...reader, signal }), token?.get())
    const headers = await waitForHeaders(reading, signal, this.#what)
    const sessionKey = this.#sharedKey(reader.principal, declarations.identity, headers) ?? newCallKey()
    const party = partyOf(reader)
    const received = newReceived()
    const untilMs = deadlineOf(signal)
    return { party, sessionKey, headers, ...this.#mark(headers), capabilities: {}, received, signal, untilMs }
  }

  async of(context: MethodContext, signal: AbortSignal): Promise<RemoteCaller> {
    const { call, environment } = context
    const { roots, sampling, elicitation } = call.capabilities
    const headers = await this.headers(context, signal)
    const own = call.session && JSON.stringify(['session', call.session.id])
    return {
      party: partyOf(call),
      sessionKey: this.#sharedKey(call.principal, environment.seals.identity, headers) ?? own ?? callKeyOf(environment),
      capabilities: { roots, sampling, elicitation }, // undefined members are left out as JSON
      headers,
      ...this.#mark(headers),
      received: this.receivedOf(context),
      signal,
      untilMs: deadlineOf(signal),
    }
  }

  receivedOf(context: MethodContext): Received {
    return this.#received.of(postOf(context))
  }

  /** Returns the headers for the upstream. Calls the option once for each round of a call. @throws see `waitForHeaders` */
  headers(methodContext: MethodContext, signal: AbortSignal): Promise<UpstreamHeaders> {
    const { roundEnded } = methodContext
    const known = this.#headersOfRounds.get(roundEnded)
    const reading =
      known ?? withToken(this.#ownHeaders(methodContext, signal), this.#quietTokenOf(methodContext)?.get())
    this.#headersOfRounds.set(roundEnded, reading)
    return waitForHeaders(reading, signal, this.#what)
  }

  /**
   * Replaces a token that the upstream has refused, for the rest of this round, without the user.
   *
   * @throws TokenRefused the problem, if there is no other token
   */
  async replaceToken(methodContext: MethodContext, signal: AbortSignal, problem: TokenRefused): Promise<void> {
    const accessToken = await this.#quietTokenOf(methodContext)?.after(problem.refused).catch(withoutToken)
    if (accessToken === undefined) throw problem
    const headers = withToken(this.#ownHeaders(methodContext, signal), Promise.resolve(accessToken))
    this.#headersOfRounds.set(methodContext.roundEnded, headers)
  }

  /** Returns the token of a user who is not asked for one: a list is no reason to. */
  #quietTokenOf({ context, server, roundEnded }: MethodContext): UpstreamToken | undefined {
    const { upstream } = this.#options
    if (upstream === undefined) return undefined
    const token = this.#quietTokens.get(roundEnded) ?? quietToken(context, server.declarations, upstream)
    this.#quietTokens.set(roundEnded, token)
    return token
  }

  /**
   * Gets the token of the user for the rest of this round, which may request input. Does nothing without the option `upstream`.
   *
   * @param problem the refusal of the last token. It is thrown if no other token helps
   * @throws ToolError for a tool, McpError for others, without a token
   */
  async connect(methodContext: MethodContext, signal: AbortSignal, problem?: TokenRefused): Promise<void> {
    const { upstream } = this.#options
    const { context, call, roundEnded } = methodContext
    if (upstream === undefined) return
    const token = this.#tokens.get(roundEnded) ?? new UpstreamToken(context, upstream)
    this.#tokens.set(roundEnded, token)
    const getting = problem ? token.after(problem.refused) : token.get()
    const accessToken = await getting.catch((thrown) => {
      throw thrown instanceof ToolError && call.method !== 'tools/call'
        ? new McpError('unavailable', thrown.message)
        : thrown
    })
    if (accessToken === undefined) throw problem
    const headers = await waitForHeaders(this.#ownHeaders(methodContext, signal), signal, this.#what)
    this.#headersOfRounds.set(roundEnded, Promise.resolve(withBearer(headers, accessToken)))
  }

  #ownHeaders({ call, environment }: MethodContext, signal: AbortSignal): Promise<UpstreamHeaders> {
    return this.#readHeaders(callerContextOf(call, { ...environment, signal: () => signal }))
  }

  #mark({ authorization }: UpstreamHeaders): { readonly hasToken?: boolean } {
    return this.#options.upstream !== undefined && authorization !== undefined ? { hasToken: true } : {}
  }

  /** Returns the key of the upstream session that a call has for itself. */
  keyOfCall(environment: object): string | undefined {
    return callKeys.get(environment)
  }

  #readHeaders(caller: HeadersContext): Promise<UpstreamHeaders> {
    return readHeaders(() => this.#options.headers(caller))
  }

  /**
   * Returns the key of an upstream session that several calls may use; `undefined` without a principal. Each client of a user has a session of
   * its own, as it has here.
   */
  #sharedKey(
    principal: Principal | undefined,
    identity: string | undefined,
    headers: UpstreamHeaders,
  ): string | undefined {
    if (this.#options.sharedSessions) return JSON.stringify(['headers', headersKey(headers)])
    return principal && JSON.stringify(['principal', clientKey(principal, identity)])
  }
}

const withBearer = (headers: UpstreamHeaders, token: string): UpstreamHeaders => ({
  ...headers,
  authorization: `Bearer ${token}`,
})

/** Adds the token of a user who has one. */
async function withToken(
  reading: Promise<UpstreamHeaders>,
  getting: Promise<string> | undefined,
): Promise<UpstreamHeaders> {
  const [headers, token] = await Promise.all([reading, getting?.catch(withoutToken)])
  return token === undefined ? headers : withBearer(headers, token)
}

/** Returns the tokens of a caller whose client cannot be asked to connect. */
function quietToken(
  caller: Pick<HeadersContext, 'principal'>,
  { context }: Declarations,
  upstream: NonNullable<ProxyOptions['upstream']>,
): UpstreamToken {
  const quiet = Object.create(caller, { supports: { value: () => false } })
  const reader: ConstructorParameters<typeof UpstreamToken>[0] = {
    async upstream(provider, options = {}) {
      const { upstream: upstreamOf } = context ?? {}
      if (!upstreamOf) throw new Error(`proxy() needs signIn() as auth of serve() for the upstream "${provider}"`)
      return upstreamOf(quiet)(provider, options)
    },
  }
  return new UpstreamToken(reader, upstream)
}

/** @throws what is no answer about this user */
function withoutToken(thrown: unknown): undefined {
  if (thrown instanceof ToolError || (thrown instanceof McpError && thrown.kind === 'unauthorized')) return undefined
  throw thrown
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
