/** Checks the options of `createServer()`. */
import { checkOptions, type KindsOf } from './check-options.ts'
import * as kind from './option-kinds.ts'
import type { ServerOptions } from './server.ts'

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
