/** The streams of a session, as a client reads them, over one connection after another. */
import type { Message } from '../protocol/jsonrpc.ts'
import { EventStreamReader } from './event-stream-reader.ts'
import { RpcError } from './rpc-error.ts'
import { isEventStream, messages } from './wire.ts'

/** A stream that is being read. */
type Open = {
  connection: AbortController
  /** Has the position from which the stream can be resumed. */
  reader: EventStreamReader
  /** Whether the stream has no last event, and can be opened again before its first event. */
  readonly isStanding: boolean
  isClosed: boolean
  /** Set while its connection was closed on purpose, and the caller waits for the next one. */
  dropped: { resumed(): void; failed(problem: unknown): void } | undefined
}

/** @param after the id of the last event; `undefined`: of the stream for messages that belong to no request */
type Connect = (after: string | undefined, signal: AbortSignal) => Promise<Response>

export type Reading = {
  readonly messages: AsyncGenerator<Message>
  /** Ends the stream from this side. */
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
   * @param connection aborts the request of that response
   * @param isStanding see `Open`
   */
  read(first: Response, connection: AbortController, isStanding = false): Reading {
    const open: Open = {
      connection,
      reader: new EventStreamReader(),
      isStanding,
      isClosed: false,
      dropped: undefined,
    }
    this.#open.add(open)
    const close = () => {
      open.isClosed = true
      open.connection.abort()
    }
    return { messages: this.#messages(open, first), close }
  }

  /**
   * Closes the connection of every stream. Resolves when all of them have been resumed.
   *
   * @throws Error without a stream that can be resumed
   */
  async drop(): Promise<void> {
    const dropped = [...this.#open].filter(
      ({ isStanding, reader, dropped }) => (isStanding || reader.lastEventId) && !dropped,
    )
    if (dropped.length === 0) {
      throw new Error('There is no stream to drop yet: wait for a message on it first, as with client.next(method)')
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

  async *#messages(open: Open, first: Response): AsyncGenerator<Message> {
    let response = first
    try {
      for (;;) {
        try {
          yield* messages(response, open.connection.signal, open.reader)
        } catch (problem) {
          if (!open.connection.signal.aborted) throw problem
        }
        const { lastEventId, retryMs = 0 } = open.reader
        if (open.isClosed || (!open.dropped && (open.isStanding || !lastEventId))) return
        // The server's wish is for clients that it has sent away.
        if (!open.dropped) await new Promise((resolve) => setTimeout(resolve, retryMs))
        open.reader = new EventStreamReader(open.reader)
        open.connection = new AbortController()
        response = await this.#connect(lastEventId || undefined, open.connection.signal)
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
