/** The scopes that a token needs for the requests of a POST. */

import type { Declarations } from '../../worker/declarations/declarations.ts'
import { entryOf } from '../../worker/engine/scopes.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { Params } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'

/** The scopes for a request. A Worker of an older release leaves them out of the POST. */
export const scopesIn = (
  { messages, scopes }: Post,
  request: RequestMessage,
  declarations: Declarations,
): readonly string[] =>
  scopes?.[messages.indexOf(request)] ?? declaredScopes(declarations, request.method, request.params)

/** The scopes of what a request is about, as they were declared. */
export const declaredScopes = (declarations: Declarations, method: string, params: Params = {}): readonly string[] =>
  entryOf(declarations, method, params)?.scopes ?? []
