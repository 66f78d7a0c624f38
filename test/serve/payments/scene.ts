/** What a test needs to know of the people who pay, whichever way they talk to the server. */
import type { ServerWithObjects } from '../../support/objects.ts'

export type Endpoint = ServerWithObjects & {
  /** Loses a session's object in the middle of whatever it does. */
  lose(object: string): Promise<void>
}

/** One thing that happens to a conversation. Nothing goes with what is `alone`. */
export type Move = { says: string; alone?: boolean; play(): Promise<void> }

/** One way through the two questions of a transfer. */
export interface Conversation {
  /** Who is paid: nobody else is paid by that name. */
  readonly to: string
  draw(): Move | undefined
  /** What is left to do until it has an end, if it can have one; `undefined`: nothing. */
  finish(): Move | undefined
  /** Holds what the bank has charged against what was said. */
  check(receipts: readonly string[]): void
}

export type Fail = (problem: string) => void

/** What becomes of one request: the client reads its reply, loses the reply, or loses the connection meanwhile. */
export type Fate = 'heard' | 'lost' | 'cut'

/** How often something is sent: one after another, each with those that go at the same time. */
export type Way = { says: string; sends: readonly (readonly Fate[])[] }

export const once: Way = { says: '', sends: [['heard']] }
/** The connection is lost, and that is that. */
export const givenUp: Way = { says: ', and is cut off', sends: [['cut']] }
export const again: readonly Way[] = [
  { says: ', twice', sends: [['heard'], ['heard']] },
  { says: ', three times at once', sends: [['heard', 'heard', 'heard']] },
  { says: ', loses the reply, and again', sends: [['lost'], ['heard']] },
  { says: ', is cut off, and again', sends: [['cut'], ['heard']] },
  { says: ', twice at once, once cut off', sends: [['cut', 'heard']] },
]

/** Sends a request. `undefined`: its reply was lost. */
export async function send(url: URL, init: RequestInit, fate: Fate, cutAfter: number): Promise<Response | undefined> {
  const stop = new AbortController()
  const timer = fate === 'cut' ? setTimeout(() => stop.abort(), cutAfter) : undefined
  try {
    const response = await fetch(url, { ...init, signal: init.signal ?? stop.signal })
    if (fate === 'heard') return response
    await response.body?.cancel()
  } catch (problem) {
    if (!stop.signal.aborted) throw problem
  } finally {
    clearTimeout(timer)
  }
  return undefined
}
