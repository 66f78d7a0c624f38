/** The entries that messages name, and their scopes. */
import type { Awaitable } from '../../../declarations/context.ts'
import * as bounds from '../../../protocol/bounds.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params } from '../../../protocol/types.ts'

type Asked = { readonly method: string; readonly params?: Params }

/** An entry as the client named it, not validated. */
export type RawSubject = { readonly name?: unknown; readonly uri?: unknown; readonly scopes: readonly string[] }

const none: readonly string[] = []

/**
 * Returns the entries that a message names: a stream of changes may name several.
 *
 * @param scopesOf returns all scopes of a request
 */
export async function subjectsOf(
  request: Asked,
  scopesOf: (intercepted: Asked) => Awaitable<readonly string[]>,
): Promise<readonly RawSubject[]> {
  const { method, params = {} } = request
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      return [{ name: params.name, scopes: await scopesOf(request) }]
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return [{ uri: params.uri, scopes: await scopesOf(request) }]
    case 'completion/complete': {
      const { type, name, uri } = isObject(params.ref) ? params.ref : {}
      return [{ ...(type === 'ref/prompt' ? { name } : { uri }), scopes: await scopesOf(request) }]
    }
    case 'subscriptions/listen': {
      const { resourceSubscriptions } = isObject(params.notifications) ? params.notifications : {}
      if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.length === 0) return [{ scopes: none }]
      return Promise.all(
        resourceSubscriptions.map(async (uri: unknown, index) => ({
          uri,
          // A longer list was refused for its size: looking up all of it would take too long.
          scopes: index < bounds.filterUris ? await scopesOf({ method: 'resources/read', params: { uri } }) : none,
        })),
      )
    }
    default:
      // A task is named by a handle, which the log must not hold: it is in another member.
      return [{ name: params.name, scopes: await scopesOf(request) }]
  }
}
