/**
 * The key ring that the isolates of a server share, unless a secret gives them one.
 *
 * | key    | meaning                                            | lifetime      |
 * |--------|----------------------------------------------------|---------------|
 * | `keys` | the key ring of a server that has no secret for it | as the server |
 */

import { DurableObject } from 'cloudflare:workers'
import { type KeyRing, mintKeyRing } from '../worker/sealing/seal.ts'
import type { KeysRpc } from './rpc.ts'
import { Schema } from './shared/schema.ts'

export class Keys extends DurableObject implements KeysRpc {
  protected readonly schema = new Schema(this.ctx.storage)

  async keys(): Promise<KeyRing> {
    this.schema.check()
    const { kv } = this.ctx.storage
    const stored = kv.get<KeyRing>('keys')
    if (stored) return stored
    const minted = mintKeyRing()
    this.schema.store()
    kv.put('keys', minted)
    return minted
  }
}
