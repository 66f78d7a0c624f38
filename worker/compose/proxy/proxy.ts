import type { Principal } from '../../protocol/principal.ts'
import type { Module } from '../../server/server.ts'
import { standBefore } from './front.ts'
import { Proxied } from './proxied.ts'
import { Remote } from './remote.ts'

export type ProxyOptions = {
  /** Goes before the names of its tools and prompts. Default: nothing; what this server declares comes first. */
  prefix?: string
  /** Sent with each request: credentials of this server, or of whoever calls. A caller's own token is not passed on. */
  headers?: (principal: Principal | undefined) => Readonly<Record<string, string>>
  /** Milliseconds that it may take. Default 60,000. */
  timeout?: number
}

/**
 * The tools, prompts, resources and completions of a server elsewhere, as a part of this one: listed with its own, and asked for
 * there, as far as that server says that it offers them. What it asks, whoever calls is asked, as far as it speaks 2026-07-28;
 * one that has sessions only is told that nobody can be asked.
 *
 * @param url its endpoint
 * @example
 * server.use(proxy('https://weather.example/mcp', { prefix: 'weather_' }))
 */
export function proxy(url: string, { prefix = '', headers = () => ({}), timeout = 60_000 }: ProxyOptions = {}): Module {
  const proxied = new Proxied(new Remote(url), { prefix, headers, timeout })
  return ({ registry }) => standBefore(registry, [proxied])
}
