import type { ForwardedEntry } from '../../../declarations/forwarded.ts'
import type { Principal } from '../../../protocol/principal.ts'

export type ProxyOptions = {
  /** Goes before the names of its tools and prompts. Default: nothing; what this server declares comes first. */
  prefix?: string
  /**
   * Sent with each request: credentials of this server, or of whoever calls. A caller's own token is not passed on. Headers of the
   * protocol (`Content-Type`, `Accept`, `Mcp-*`) cannot be set.
   */
  headers?: (principal: Principal | undefined) => Readonly<Record<string, string>>
  /** Milliseconds that it may take for a call, without the time in which the client is asked. Default 60,000. */
  timeout?: number
  /** Milliseconds that it may take for a whole list, at most `timeout`. Default 10,000: clients wait a minute for all upstreams. */
  listTimeout?: number
  /**
   * What a token must allow to use what the upstream has: all scopes of the list, or those that a function returns for one entry.
   * `[]` is for whoever is let in. Left out, everybody may use everything, and `bearer({ requireScopesEverywhere: true })` refuses to start.
   */
  scopes?: readonly string[] | ((entry: ForwardedEntry) => readonly string[])
  /**
   * Callers with equal headers share one session of the upstream, which may then mix up what they do. Default `false`: each
   * principal has a session of its own; without a principal each session of this server has one, or each call.
   */
  sharedSessions?: boolean
  /** Reaches the upstream where a plain `fetch` does not, through a service binding for example. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}
