/** The scopes that a token needs for the requests of a POST. */

import type { Declarations } from '../../worker/declarations/declarations.ts'
import { entryOf } from '../../worker/engine/required-scopes.ts'
import type { RequestMessage } from '../../worker/protocol/jsonrpc.ts'
import type { Params } from '../../worker/protocol/types.ts'
import type { Post } from '../rpc.ts'

/** Returns the scopes for a request. A Worker of an older release omits them from the POST. */
export const scopesIn = (
  { messages, scopes }: Post,
  request: RequestMessage,
  declarations: Declarations,
): readonly string[] =>
  scopes?.[messages.indexOf(request)] ?? declaredScopes(declarations, request.method, request.params)

/** Returns the declared scopes of the entry that a request names. */
export const declaredScopes = (declarations: Declarations, method: string, params: Params = {}): readonly string[] =>
  entryOf(declarations, method, params)?.scopes ?? []
