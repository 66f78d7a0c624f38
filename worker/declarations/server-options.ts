/** The options of `createServer()`. */
import type { Caching, Implementation, Params } from '../protocol/types.ts'
import type { Caller } from './caller.ts'
import { checkOptions, type KindsOf } from './check-options.ts'
import type { Awaitable } from './context.ts'
import * as kind from './option-kinds.ts'
import type { JsonSchemaReader } from './schema.ts'

/**
 * Describes a server to clients and to models.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema#implementation
 */
export type ServerOptions = Implementation & {
  /** Instructions for the model, which clients may add to its context, or a function of the caller that returns them. Default: none. */
  instructions?: string | ((caller: Caller) => Awaitable<string | undefined>)
  /** Experimental capabilities to declare, by name, with their settings. Default: none. */
  experimental?: Readonly<Record<string, Params>>
  /** How long clients may cache lists: `ttlMs` milliseconds, for one user (`private`) or for all (`public`). Default: no caching. */
  caching?: Caching
  /** Entries on one page of a list. Default: 1,000, because many clients read the first page only. */
  pageSize?: number
  /** The validator for plain JSON Schemas: `jsonSchema` of `edgemcp/json-schema`. Default: none; only Standard Schemas are accepted. */
  jsonSchema?: JsonSchemaReader
}

const kinds: KindsOf<ServerOptions> = {
  name: kind.required(kind.name),
  version: kind.required(kind.name),
  title: kind.string,
  description: kind.string,
  icons: kind.icons,
  websiteUrl: kind.string,
  instructions: kind.stringOrFunction,
  experimental: kind.object(),
  caching: kind.caching,
  pageSize: kind.count,
  jsonSchema: [kind.fn[0], 'jsonSchema of "edgemcp/json-schema"'],
}

export const checkServerOptions = (options: unknown): void => checkOptions('createServer()', options, kinds)
