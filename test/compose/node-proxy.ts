/** proxy() in Node: the same parts, with a fetch of the test's own. The harness of Workers follows redirects by itself. */

import type { Resilience } from '../../worker/client/request-guard.ts'
import { draftOf } from '../../worker/declarations/declarations.ts'
import type { Module } from '../../worker/declarations/server.ts'
import { SelectedTools } from '../../worker/declarations/tool-selection.ts'
import { mountUpstreams } from '../../worker/plugins/compose/proxy/mount-upstreams.ts'
import { Proxied, type ProxiedOptions } from '../../worker/plugins/compose/proxy/proxied.ts'
import { Remote } from '../../worker/plugins/compose/proxy/remote.ts'
import type { RemotePlatform } from '../../worker/plugins/compose/proxy/upstream-http.ts'

/** One attempt for each request, whatever failed before. */
export const once: Resilience = {
  timeoutMs: 60_000,
  attemptTimeoutMs: undefined,
  retries: 0,
  circuitBreaker: undefined,
}

export const nodeProxy =
  (
    url: string,
    fetch: RemotePlatform['fetch'] = globalThis.fetch,
    options: Partial<ProxiedOptions> = {},
    resilience: Partial<Resilience> = {},
  ): Module =>
  (server) => {
    const remote = new Remote(url, { fetch, waitUntil: () => {} }, { ...once, ...resilience })
    const all = {
      prefix: '',
      headers: () => ({}),
      timeoutMs: 60_000,
      listTimeoutMs: 10_000,
      listMaxAgeMs: 30_000,
      sharedSessions: false,
      selected: new SelectedTools('proxy()', {}),
      scopes: [],
      ...options,
    }
    mountUpstreams(draftOf(server), [new Proxied(remote, all)])
  }
