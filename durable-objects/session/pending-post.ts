/** One POST on its way through a session: silent until something must be said before its answer, then a stream. */

import type { Admitted } from '../../worker/declarations/endpoints.ts'
import { BatchAnswers } from '../../worker/engine/batch-answers.ts'
import type { Journal } from '../../worker/engine/journal.ts'
import type { NegotiatedSession } from '../../worker/engine/methods/method.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Revision } from '../../worker/protocol/revision.ts'
import type { RequestId } from '../../worker/protocol/types.ts'

/** A request that has no answer yet. */
export type SessionCall = {
  readonly request: RequestMessage
  readonly handshake: NegotiatedSession
  readonly session: string
  readonly identity: string
  readonly principal: Principal | undefined
  /** What the endpoint says that admitted it. A call that is run again after its object was lost has none. */
  readonly admitted?: Admitted | undefined
  /** Whom limits count it for; `undefined`: nobody counts it. */
  readonly caller: string | undefined
  /** See `Post`. A call that is run again after its object was lost has none. */
  readonly address?: string | undefined
  readonly expires: number
  /** What a token needs to answer its input requests, or to cancel it; left out when it needs nothing. */
  readonly scopes?: readonly string[] | undefined
  readonly journal: Journal
  /** Its row in the ledger, once it has a stream. */
  row?: number
}

export type Reply = { status: number; text: string; headers?: Readonly<Record<string, string>> | undefined }

/** A request that a limit refused. */
export type CallRefusal = { readonly request: RequestMessage; readonly error: McpError }

export class PendingPost {
  readonly revision: Revision
  /** The client takes streams. */
  readonly streams: boolean
  readonly calls = new Set<SessionCall>()
  /** What a token needs to resume the stream of the POST. Empty when its stream exists already. */
  readonly scopes: readonly string[]
  /** Answers kept back while silent. */
  readonly replies: (Reply & { id: RequestId })[] = []
  /** Bounds the replies of a batch together. */
  readonly #batch: BatchAnswers | undefined
  readonly #refusals: CallRefusal[] = []
  readonly #counting: Promise<void>[] = []
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
    this.#batch = options.batch ? new BatchAnswers() : undefined
    this.scopes = options.scopes ?? []
  }

  /** Settles when every request has its answer, or the exchange has become a stream. */
  get settled(): Promise<void> {
    return this.#settling.promise
  }

  get isSettled(): boolean {
    return this.unanswered === 0 || this.stream !== undefined
  }

  /** A request of the POST is counted under the limits of the server. */
  count(request: RequestMessage, counting: Promise<unknown>): void {
    const refused = (error: unknown) => {
      if (error instanceof McpError) this.#refusals.push({ request, error })
    }
    this.#counting.push(counting.then(() => {}, refused))
  }

  /** The requests that a limit refused, once all were counted. */
  async refusals(): Promise<readonly CallRefusal[]> {
    if (this.#counting.length > 0) await Promise.all(this.#counting)
    return this.#refusals
  }

  /** From now on everything is said on this stream. */
  switchToStream(stream: number): void {
    this.stream = stream
    this.#settling.resolve()
  }

  /** One request has its answer, or, when it was cancelled, none. */
  addReply(reply: (Reply & { id: RequestId }) | undefined): void {
    this.unanswered -= 1
    if (reply) this.replies.push(this.#batch ? this.#fit(this.#batch, reply) : reply)
    if (this.unanswered === 0) this.#settling.resolve()
  }

  #fit(batch: BatchAnswers, reply: Reply & { id: RequestId }): Reply & { id: RequestId } {
    return { ...reply, text: batch.fit(reply.id, reply.text, this.revision) }
  }
}
