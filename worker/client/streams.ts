/** The streams of a session, as a client reads them: over as many connections as it takes. */
import type { Message } from '../protocol/jsonrpc.ts'
import { RpcError } from './rpc-error.ts'
import { events, isEventStream, parseMessage } from './wire.ts'

/** One that is read now. */
type Open = {
  connection: AbortController
  /** It can be resumed. */
  resumable: boolean
  isClosed: boolean
  /** Its connection was lost on purpose: whoever did it waits for the next. */
  dropped: { resumed(): void; failed(problem: unknown): void } | undefined
}

/** @param after the id of the last event; `undefined`: of the stream for whatever is nobody's answer */
type Connect = (after: string | undefined, signal: AbortSignal) => Promise<Response>

export type Reading = {
  readonly messages: AsyncGenerator<Message>
  /** Ends it, from this side. */
  close(): void
}

export class Streams {
  readonly #connect: Connect
  readonly #open = new Set<Open>()

  constructor(connect: Connect) {
    this.#connect = connect
  }

  /**
   * @param first its first response
   * @param connection aborts the request of that
   * @param isStanding it has no last event, and need not have a first one to be opened again
   */
  read(first: Response, connection: AbortController, isStanding = false): Reading {
    const open: Open = { connection, resumable: isStanding, isClosed: false, dropped: undefined }
    this.#open.add(open)
    const close = () => {
      open.isClosed = true
      open.connection.abort()
    }
    return { messages: this.#messages(open, first, isStanding), close }
  }

  /**
   * Loses the connection of every stream. Resolves when all of them have been resumed.
   *
   * @throws Error when there is none that could be
   */
  async drop(): Promise<void> {
    const dropped = [...this.#open].filter(({ resumable, dropped }) => resumable && !dropped)
    if (dropped.length === 0) {
      throw new Error(
        'There is no stream to drop yet: wait for something that comes on it, such as client.next(method)',
      )
    }
    const resumed = dropped.map(
      (open) =>
        new Promise<void>((resolve, reject) => {
          open.dropped = { resumed: resolve, failed: reject }
          open.connection.abort()
        }),
    )
    await Promise.all(resumed)
  }

  async *#messages(open: Open, first: Response, isStanding: boolean): AsyncGenerator<Message> {
    let response = first
    let lastId: string | undefined
    let wait = 0
    try {
      for (;;) {
        try {
          for await (const { id, data, retry } of events(response, open.connection.signal)) {
            lastId = id ?? lastId
            wait = retry ?? wait
            open.resumable ||= lastId !== undefined
            if (data !== '') yield parseMessage(data)
          }
        } catch (problem) {
          if (!open.connection.signal.aborted) throw problem
        }
        if (open.isClosed || (!open.dropped && (isStanding || lastId === undefined))) return
        // The server's wish is for clients that it has sent away.
        if (!open.dropped) await new Promise((resolve) => setTimeout(resolve, wait))
        open.connection = new AbortController()
        response = await this.#connect(lastId, open.connection.signal)
        if (!isEventStream(response)) {
          throw new RpcError('The stream could not be resumed', { code: 0, status: response.status })
        }
        open.dropped?.resumed()
        open.dropped = undefined
      }
    } catch (problem) {
      open.dropped?.failed(problem)
      throw problem
    } finally {
      this.#open.delete(open)
      open.dropped?.resumed()
      open.connection.abort()
    }
  }
}
