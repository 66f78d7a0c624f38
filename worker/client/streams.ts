/** The streams of a session, as a client reads them, over one connection after another. */
import type { Message } from '../protocol/jsonrpc.ts'
import { RpcError } from './rpc-error.ts'
import { events, isEventStream, isMessage, parseMessage } from './wire.ts'

/** A stream that is being read. */
type Open = {
  connection: AbortController
  /** Whether the stream can be resumed. */
  resumable: boolean
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
   * @param isStanding whether the stream has no last event, and can be opened again before its first event
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
   * Closes the connection of every stream. Resolves when all of them have been resumed.
   *
   * @throws Error without a stream that can be resumed
   */
  async drop(): Promise<void> {
    const dropped = [...this.#open].filter(({ resumable, dropped }) => resumable && !dropped)
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

  async *#messages(open: Open, first: Response, isStanding: boolean): AsyncGenerator<Message> {
    let response = first
    let lastId: string | undefined
    let wait = 0
    try {
      for (;;) {
        try {
          for await (const event of events(response, open.connection.signal)) {
            lastId = event.id ?? lastId
            wait = event.retry ?? wait
            open.resumable ||= lastId !== undefined
            if (isMessage(event)) yield parseMessage(event.data)
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
