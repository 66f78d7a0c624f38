/** The RPC interfaces of objects that store a request state, a key ring or used proofs. Types only, so that `worker/` can import them. */

import type { KeyRing } from '../../worker/sealing/seal.ts'

/** The RPC interface of an object that stores one request state. */
export interface RequestStateRpc {
  /** @param expires milliseconds since 1970: until when the state is stored */
  put(text: string, expires: number): Promise<void>
  get(): Promise<string | undefined>
  /**
   * Uses a state. The first use is answered by its caller, with `keep`; the same use again waits for that answer.
   *
   * @param use the request that uses the state
   * @param isLate the time for the response is over: a repeated use gets the first outcome, a first use is rejected
   */
  consume(use: string, expires: number, isLate?: boolean): Promise<Consumed>
  /** Extends the lease of the first use while its caller works on the answer. */
  extend(): Promise<void>
}

/**
 * The result of a use, if it has no answer.
 *
 * - `first`: the caller has to answer
 * - `late`: the state was not used in time
 * - `lost`: the same use came before, and the Worker that had to answer has stopped
 * - `working`: the same use came before, and that Worker is still at work
 * - `other`: another use came before
 */
export type Consumed = { is: 'first' | 'late' | 'lost' | 'working' | 'other' } | { is: 'answered'; text: string }

/** The RPC interface of an object that stores a key ring. */
export interface KeysRpc {
  /** Returns the key ring. @param mint creates it if none is stored */
  keys(mint: boolean): Promise<KeyRing | undefined>
}

/** The RPC interface of an object that stores used DPoP proofs of one key. */
export interface UsedProofsRpc {
  /**
   * Uses a proof.
   *
   * @param id the hash of `jti`
   * @param expires milliseconds since 1970: until when all proofs are stored; the same for all proofs of the object
   * @returns `used` for a proof that was used before; `full` if no more can be stored
   */
  useProof(id: string, expires: number): Promise<'first' | 'used' | 'full'>
}

/** The RPC interface of objects of the session class that are not sessions: see `store/object.ts`. */
export interface StoreRpc extends KeysRpc, RequestStateRpc, UsedProofsRpc {}
