/** Finds the Durable Object of a session, a task or a state: a part of its id names it. */
import { decodeBase64url } from '../protocol/base64url.ts'
import { type KeyRing, readNonce } from '../sealing/seal.ts'
import { nameOfId } from '../sealing/short-id.ts'

/** Identifies a Durable Object: by a session (a `TestClient` is one), by a task, by a handle of a state, or by its class and name. */
export type DurableObjectRef =
  /** The object of a session, by the session id. A `TestClient` has this member. */
  | { readonly session: string | undefined }
  /** The object of a task, by the id of the task. */
  | { readonly task: string }
  /** The object of a state, by the name of its declaration and by the handle that `ctx.createHandle` returned. */
  | { readonly state: string; readonly handle: string }
  /** Any object, by its name and by the exported name of its class. */
  | { readonly object: string; readonly class: string }

/** Configures `evict()`. */
export type EvictOptions = {
  /** Exported name of the class. Default: `McpSession`, `McpTask` or `McpState`. */
  class?: string
  /** Whether WebSockets of the object hibernate, as in an idle object, or close, as in a lost one. Default: `hibernate`. */
  webSockets?: 'close' | 'hibernate'
}

/** Controls the server under test: its memory and its clock. */
export interface ServerUnderTest {
  /**
   * Evicts a Durable Object from memory, as the platform can do at any time. What it did not store is lost. Without `kept`, evicts all
   * objects. Waits until the object is idle; an object that is not in memory does not change. A running call can block it for 30
   * seconds, and is blocked at its next `fetch`: let the calls of the object end, or wait for input, before.
   */
  evict(kept?: DurableObjectRef, options?: EvictOptions): Promise<void>
  /**
   * Moves the clock forward, and runs the alarms that become due, each at its time. Timers do not move.
   *
   * @throws Error when the clock of the server cannot be moved. The message names the fix
   */
  advance(milliseconds: number): Promise<void>
}

export type ObjectName = { readonly class: string; readonly name: string }

/** @throws Error when a server with other keys made it */
export async function objectOf(kept: DurableObjectRef, ring: KeyRing, className?: string): Promise<ObjectName> {
  if ('object' in kept) return { class: kept.class, name: kept.object }
  if ('task' in kept) {
    return { class: className ?? 'McpTask', name: `task ${nameIn(kept.task, 'task')}` }
  }
  if ('state' in kept) {
    const name = JSON.stringify([kept.state, 'handle', nameIn(kept.handle, 'handle')])
    return { class: className ?? 'McpState', name }
  }
  if (kept.session === undefined) {
    throw new Error('This client has no session: evict({ task }) or another object of the server, or evict everything')
  }
  await opened(kept.session, ring)
  return { class: className ?? 'McpSession', name: String(readNonce(kept.session)) }
}

function nameIn(id: string, kind: string): string {
  if (/^[\w-]{39}$/.test(id)) return nameOfId(id)
  throw new Error(`Not the id of a ${kind} of the server under test: ${id.slice(0, 20)}…`)
}

/**
 * Reads a session id without the principal that it is sealed for. Without the principal it cannot be authenticated, which a test does not
 * need: AES-CTR is the cipher inside of AES-GCM, and the counter of the first block of text is 2.
 *
 * @see https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
async function opened(sealed: string, { keys }: KeyRing): Promise<unknown> {
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
    throw new Error(`Not the id of a session of the server under test: ${sealed.slice(0, 20)}…`)
  }
}
