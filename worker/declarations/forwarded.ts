/** Entries that a server forwards to other servers, as `proxy()` does: the part that authorization needs. */

import type { JsonSchema, Params } from '../protocol/types.ts'
import type { Guarded } from './caller.ts'

/** Identifies an entry of an upstream server. */
export type ForwardedEntry = {
  /** Kind of the entry. */
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** Its name on the upstream server, without a prefix. For a resource, its URI or template. */
  readonly name: string
}

/** An upstream server whose entries a server offers. */
export interface Forwarded {
  /** For errors, such as `the proxy of "https://weather.example/mcp"`. */
  readonly what: string
  /** Start of the names of its tools and prompts on this server. */
  readonly prefix: string
  /** Scopes of all its entries; `[]` if each entry has its own; `undefined`: not declared. */
  readonly scopes: readonly string[] | undefined
  /** Tools with access options of their own, by their names on this server. */
  readonly guarded: ReadonlyMap<string, Guarded>
  /** Returns the access options of an entry that a client names; `undefined` if it is not an entry of this upstream. @param name as the client writes it */
  accessTo(kind: ForwardedEntry['kind'] | 'template', name: string): Guarded | undefined
  /** Returns the output schema, with its `type` only, of the tool that a call has reached there. @param params that the client sent */
  outputSchemaOf?(params: Params): JsonSchema | undefined
}
