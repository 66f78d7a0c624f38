import { waitUntil } from 'cloudflare:workers'
import { checkOptions, type KindsOf } from '../../../declarations/check-options.ts'
import { draftOf } from '../../../declarations/declarations.ts'
import { milliseconds } from '../../../declarations/duration.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import type { Module } from '../../../declarations/server.ts'
import { SelectedTools, selectionKinds } from '../../../declarations/tool-selection.ts'
import { readResilience, resilienceKinds } from '../../../declarations/upstream-options.ts'
import { upstreamKind } from '../../../declarations/upstream-token.ts'
import { isSecureUrl } from '../../../protocol/secure-url.ts'
import { mountUpstreams } from './mount-upstreams.ts'
import { Proxied } from './proxied.ts'
import type { ProxyOptions } from './proxy-options.ts'
import { Remote } from './remote.ts'
import type { RemotePlatform } from './upstream-http.ts'

const kinds: KindsOf<ProxyOptions> = {
  prefix: [
    (value) => typeof value === 'string' && /^[\w.-]{0,127}$/.test(value),
    'at most 127 letters, digits, "_", "." or "-"',
  ],
  headers: kind.fn,
  upstream: upstreamKind,
  ...resilienceKinds,
  ...selectionKinds,
  listTimeout: kind.positiveDuration,
  listMaxAge: kind.duration,
  // Checked below: the message names the upstream.
  scopes: kind.anything,
  sharedSessions: kind.flag,
  fetch: kind.fn,
}

/**
 * Adds the tools, prompts, resources and completions of a server elsewhere (an upstream) to this one. Lists contain them, and calls are
 * forwarded. Input requests of the upstream reach the client if the upstream supports 2026-07-28; an upstream with sessions cannot send
 * any.
 *
 * @param url the endpoint of the upstream: https, or http on this machine, without credentials
 * @throws Error for another URL, and for an invalid option. The message names the fix
 *
 * @example
 * server.use(proxy('https://weather.example/mcp', { prefix: 'weather_', scopes: ['weather:read'] }))
 */
export function proxy(url: string, options: ProxyOptions = {}): Module {
  checkOptions('proxy()', options, kinds)
  const {
    prefix = '',
    headers = () => ({}),
    listTimeout = 10_000,
    listMaxAge = 30_000,
    sharedSessions = false,
    scopes,
    upstream,
  } = options
  if (!isSecureUrl(url)) {
    throw new Error(
      `proxy("${url}"): the URL of an upstream must be https, or http on localhost, as in "https://weather.example/mcp"`,
    )
  }
  const { username, password, host } = new URL(url)
  if (username || password) {
    throw new Error(`proxy(): the URL of the upstream at ${host} must have no credentials: send them by "headers"`)
  }
  if (scopes !== undefined && typeof scopes !== 'function' && !kind.scopes[0](scopes)) {
    throw new Error(
      `proxy("${url}") has the scopes ${JSON.stringify(scopes)}: write a list, as in scopes: ['weather:read'], or a function`,
    )
  }
  const platform: RemotePlatform = { fetch: options.fetch ?? ((to, init) => fetch(to, init)), waitUntil }
  const resilience = readResilience('proxy()', options)
  const proxied = new Proxied(new Remote(url, platform, resilience), {
    prefix,
    headers,
    ...(upstream !== undefined && { upstream }),
    timeoutMs: resilience.timeoutMs,
    listTimeoutMs: milliseconds(listTimeout, 'proxy() listTimeout'),
    listMaxAgeMs: milliseconds(listMaxAge, 'proxy() listMaxAge'),
    sharedSessions,
    scopes,
    selected: new SelectedTools(`proxy("${url}")`, options),
  })
  return (server) => {
    const { prefix: outer } = server
    mountUpstreams(draftOf(server), [outer ? proxied.withPrefix(outer, []) : proxied])
  }
}
