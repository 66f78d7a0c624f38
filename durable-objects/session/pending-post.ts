/** A POST while a session processes it: silent until a message must be sent before the last reply, then a stream. */

import { BatchAnswers } from '../../worker/engine/batch-answers.ts'
import type { Journal } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import type { StoredContext } from '../../worker/engine/request-context.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Revision } from '../../worker/protocol/revision.ts'
import { oldestRevision, revisionOf } from '../../worker/protocol/revisions/index.ts'
import type { RequestId } from '../../worker/protocol/types.ts'
import type { LedgerCall, StoredCall } from '../shared/call-ledger.ts'
import type { Post } from './rpc.ts'

/** A request without a reply. */
export type SessionCall = {
  readonly request: RequestMessage
  readonly handshake: NegotiatedSession
  readonly session: string
  readonly principal: Principal | undefined
  /** The request context of the POST that started it. Absent without one. */
  readonly requestContext?: StoredContext | undefined
  /** The tenant of the endpoint: see `Tenants`. */
  readonly tenant?: string | undefined
  /** The caller that limits count it for; `undefined`: not counted. */
  readonly caller: string | undefined
  /** See `Post`. Absent for a call that runs again after its object was lost. */
  readonly address?: string | undefined
  /** See `Post`: of the POST that started the current round. Absent for a call that runs again after its object was lost. */
  readonly http?: Post['http']
  readonly expires: number
  /** Scopes that a token needs to answer its input requests, or to cancel it. Absent: none. */
  readonly scopes?: readonly string[] | undefined
  readonly journal: Journal
  /** Its row in the ledger, once it has a stream. */
  row?: number
}

export type Reply = { status: number; text: string; headers?: Readonly<Record<string, string>> | undefined }

/** A request that a limit rejected. */
export type CallRefusal = { readonly request: RequestMessage; readonly error: McpError }

export class PendingPost {
  readonly revision: Revision
  /** Whether the client accepts event streams. */
  readonly streams: boolean
  readonly calls = new Set<SessionCall>()
  /** Scopes that a token needs to resume the stream of the POST. Empty if the stream already exists. */
  readonly scopes: readonly string[]
  /** Replies that wait for the response. */
  readonly replies: (Reply & { id: RequestId })[] = []
  /** Absent for a POST with one message. */
  readonly batch: BatchAnswers | undefined
  readonly #refusals: CallRefusal[] = []
  /** Work that ends before the POST is acknowledged. */
  readonly #awaited: Promise<void>[] = []
  readonly #settling = Promise.withResolvers<void>()
  stream: number | undefined
  unanswered: number

  constructor(
    revision: Revision,
    options: { streams: boolean; unanswered: number; batch?: boolean; stream?: number; scopes?: readonly string[] },
  ) {
    this.revision = revision
    this.streams = options.streams
    this.stream = options.stream
    this.unanswered = options.unanswered
    this.batch = options.batch ? new BatchAnswers() : undefined
    this.scopes = options.scopes ?? []
    if (this.isSettled) this.#settling.resolve()
  }

  /** Resolves when every request has its reply, or the POST has become a stream. */
  get settled(): Promise<void> {
    return this.#settling.promise
  }

  get isSettled(): boolean {
    return this.unanswered === 0 || this.stream !== undefined
  }

  /** Records that a request is being counted under the limits of the server. */
  count(request: RequestMessage, counting: Promise<unknown>): void {
    const refused = (error: unknown) => {
      if (error instanceof McpError) this.#refusals.push({ request, error })
    }
    this.delay(counting.then(() => {}, refused))
  }

  /** Delays the response to the POST until work has ended that the ledger does not contain. @param work does not throw */
  delay(work: Promise<void>): void {
    this.#awaited.push(work)
  }

  /** Returns the requests that a limit rejected, once all are counted and all work that delays the response has ended. */
  async refusals(): Promise<readonly CallRefusal[]> {
    if (this.#awaited.length > 0) await Promise.all(this.#awaited)
    return this.#refusals
  }

  /** Sends all further messages on this stream. */
  switchToStream(stream: number): void {
    this.stream = stream
    this.#settling.resolve()
  }

  /** Records that a request has its reply or, if it was cancelled, needs none. */
  addReply(reply: (Reply & { id: RequestId }) | undefined): void {
    this.unanswered -= 1
    if (reply) this.replies.push(reply)
    if (this.unanswered === 0) this.#settling.resolve()
  }
}

/** Returns the remaining part of a POST that has been answered with a stream. */
export const restOfPost = ({ handshake, stream }: LedgerCall): PendingPost =>
  new PendingPost(revisionOf(handshake.version) ?? oldestRevision, { streams: true, unanswered: 1, stream })

/** Returns a call as it was stored: without its principal. @param expires see `Post` */
export const storedCall = ({ row, call }: StoredCall, expires = 0): SessionCall => ({
  ...call,
  row,
  principal: undefined,
  caller: undefined,
  expires,
})

/** Returns the stored form of a call, without its principal. */
export const ledgerCallOf = (
  { request, handshake, session, tenant, principal, requestContext, scopes = [], journal }: SessionCall,
  stream: number,
): LedgerCall => ({
  request,
  stream,
  journal,
  handshake,
  session,
  isPersonal: principal !== undefined,
  ...(tenant !== undefined && { tenant }),
  ...(requestContext && { requestContext }),
  ...(scopes.length > 0 && { scopes }),
  repeats: 0,
})
