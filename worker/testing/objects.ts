/** Which Durable Object keeps what: only its id says, and only the server's keys open that. */
import { decodeBase64url } from '../protocol/base64url.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { KeyRing } from '../sealing/seal.ts'

/** What an object keeps: a client's session, a task, a state that has a handle; or an object by its name. */
export type DurableObjectRef =
  | { readonly session: string | undefined }
  | { readonly task: string }
  | { readonly state: string; readonly handle: string }
  | { readonly object: string; readonly class: string }

export type EvictOptions = {
  /** Name of the exported class, if it is not `McpSession`, `McpTask` or `McpState`. */
  class?: string
  /** What becomes of the object's sockets. Default `hibernate`, as when it falls asleep; `close`, as when it is lost. */
  webSockets?: 'close' | 'hibernate'
}

/** What a test can do to the server, besides asking it. */
export interface ServerUnderTest {
  /**
   * Puts the object that keeps something out of memory, as the platform does whenever it likes: what was not stored is gone.
   * Without `kept`: all of them. Waits until it has nothing to do. One that is not in memory is left alone.
   */
  evict(kept?: DurableObjectRef, options?: EvictOptions): Promise<void>
  /**
   * Lets time pass at once: the clock goes forward, and alarms that come due meanwhile run, each at its time. Timers do not.
   *
   * @throws Error that says what is missing, where nothing can be done about the server's clock
   */
  advance(milliseconds: number): Promise<void>
}

export type ObjectName = { readonly class: string; readonly name: string }

/** @throws Error when it was not made by a server with these keys */
export async function objectOf(kept: DurableObjectRef, ring: KeyRing, className?: string): Promise<ObjectName> {
  if ('object' in kept) return { class: kept.class, name: kept.object }
  if ('task' in kept) {
    const name = await nameIn(kept.task, ring, 'task')
    return { class: className ?? 'McpTask', name: `task ${name}` }
  }
  if ('state' in kept) {
    const name = JSON.stringify([kept.state, 'handle', await opened(kept.handle, ring, 'handle')])
    return { class: className ?? 'McpState', name }
  }
  if (kept.session === undefined) {
    throw new Error('This client has no session: evict() what the server keeps for it, such as { task }, or everything')
  }
  const name = await nameIn(kept.session, ring, 'session')
  return { class: className ?? 'McpSession', name: String(name) }
}

async function nameIn(sealed: string, ring: KeyRing, kind: string): Promise<unknown> {
  const value = await opened(sealed, ring, kind)
  return isObject(value) ? value.name : undefined
}

/**
 * What a sealed text says, whoever it was sealed for. Without its principal it cannot be told to be genuine, which is nothing
 * to a test; so it is read with the cipher below GCM, whose first block of text has the counter 2.
 *
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
async function opened(sealed: string, { keys }: KeyRing, kind: string): Promise<unknown> {
  const [id = '', text = ''] = sealed.split('.')
  try {
    const bytes = decodeBase64url(text)
    const key = await crypto.subtle.importKey('raw', decodeBase64url(keys[id] ?? ''), 'AES-CTR', false, ['decrypt'])
    const counter = new Uint8Array(16)
    counter.set(bytes.subarray(0, 12))
    counter[15] = 2
    const tagless = bytes.subarray(12, -16)
    const plain = await crypto.subtle.decrypt({ name: 'AES-CTR', counter, length: 32 }, key, tagless)
    return JSON.parse(new TextDecoder().decode(plain))[1]
  } catch {
    throw new Error(`Not the id of a ${kind} of the server under test: ${sealed.slice(0, 20)}…`)
  }
}
