/** What messages are about, and what that takes. */
import { entryOf } from '../engine/scopes.ts'
import { bounds } from '../protocol/bounds.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import type { Registry } from '../server/server.ts'

type Asked = { readonly method: string; readonly params?: Params }

/** As it was asked for: nothing of it is known to be a text. */
export type RawSubject = { readonly name?: unknown; readonly uri?: unknown; readonly scopes: readonly string[] }

const none: readonly string[] = []

/** Everything that a message is about: a stream of changes may be about many. */
export function subjectsOf(registry: Registry, { method, params = {} }: Asked): readonly RawSubject[] {
  const scopesOf = (asked: string, about: Params) => entryOf(registry, asked, about)?.scopes ?? none
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      return [{ name: params.name, scopes: scopesOf(method, params) }]
    case 'resources/read':
    case 'resources/subscribe':
      return [{ uri: params.uri, scopes: scopesOf(method, params) }]
    case 'resources/unsubscribe':
      return [{ uri: params.uri, scopes: none }]
    case 'completion/complete': {
      const { type, name, uri } = isObject(params.ref) ? params.ref : {}
      return [{ ...(type === 'ref/prompt' ? { name } : { uri }), scopes: scopesOf(method, params) }]
    }
    case 'subscriptions/listen': {
      const { resourceSubscriptions } = isObject(params.notifications) ? params.notifications : {}
      if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.length === 0) return [{ scopes: none }]
      return resourceSubscriptions.map((uri: unknown, index) => ({
        uri,
        // A longer list was refused for its size: looking up all of it would take too long.
        scopes: index < bounds.filterUris ? scopesOf('resources/read', { uri }) : none,
      }))
    }
    default:
      return [{ scopes: none }]
  }
}
