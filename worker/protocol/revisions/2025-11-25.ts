/**
 * 2025-11-25, as the difference to 2026-07-28.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/changelog
 */
import { serverInfoKey } from '../meta.ts'
import { before } from '../revision.ts'
import type { Result } from '../types.ts'
import { rev20260728 } from './2026-07-28.ts'
import { mapItems, omit } from './transform-helpers.ts'
import { wrapOutputSchema, wrapStructuredContent } from './wrapped-output.ts'

export const rev20251125 = before(rev20260728, {
  date: '2025-11-25',
  traits: { stateless: false, batching: false, polling: true },

  // The handshake, sessions, polling and everything that needed them went away.
  adds: ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'],
  lacks: ['server/discover', 'subscriptions/listen'],
  notifications: { 'notifications/subscriptions/acknowledged': () => undefined },

  // Results gained a kind, caching hints and the server's identity.
  everyResult: ({ resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...result }) => withoutServerInfo(result),

  results: {
    // Output schemas and structured content may be anything, not only objects.
    'tools/list': mapItems('tools', wrapOutputSchema),
    'tools/call': (result, { outputSchema }) => wrapStructuredContent(result, outputSchema),
  },

  // A URL elicitation has an id, for the notification that the user has completed it.
  asks: {
    'elicitation/create': (params, id) => (params.mode === 'url' ? { ...params, elicitationId: id } : params),
  },

  // Ordinary failures of a request kept HTTP 200; a missing resource and a page to be visited first had codes of their own.
  errors: {
    method_not_found: { status: 200 },
    resource_not_found: { code: -32002 },
    url_elicitation_required: { code: -32042 },
    missing_client_capability: { code: -32600, status: 200 },
  },
})

function withoutServerInfo(result: Result): Result {
  if (!result._meta || !(serverInfoKey in result._meta)) return result
  const meta = omit(serverInfoKey)(result._meta)
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : omit('_meta')(result)
}
