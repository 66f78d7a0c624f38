import type { Awaitable } from '../../../declarations/context.ts'
import type { Duration } from '../../../declarations/duration.ts'
import type { ForwardedEntry } from '../../../declarations/forwarded.ts'
import type { ToolSelection } from '../../../declarations/tool-selection.ts'
import type { HeadersContext, ResilienceOptions } from '../../../declarations/upstream-options.ts'
import type { UpstreamTokenOptions } from '../../../declarations/upstream-token.ts'

/** Configures `proxy()`. */
export type ProxyOptions = ResilienceOptions &
  UpstreamTokenOptions &
  ToolSelection & {
    /**
     * Start of the names of the upstream's tools and prompts, and of the authority of its `ui://`, `skill://` and `result://` URIs. Entries of this server take precedence over equal names. At most 127 letters, digits, `_`, `.` and `-`. Default: an empty
     * text.
     */
    prefix?: string
    /**
     * Returns headers for the requests of a call to the upstream, such as credentials, possibly after a look-up, within the call's timeout.
     * While a session of this server starts, `caller.state` throws an error. The token of the caller is not forwarded. Headers that are `undefined` are not sent. `Content-Type`, `Accept` and `Mcp-*` cannot be set. Lists leave the upstream out when it
     * throws an error or returns a header that cannot be sent; a call ends with an `McpError` that it throws, or with an internal error, which is logged. Default: none.
     */
    headers?: (caller: HeadersContext) => Awaitable<Headers | Readonly<Record<string, string | undefined>>>
    /** Duration of a whole list, at most `timeout`. Default: 10 seconds, because clients wait for all upstreams together. */
    listTimeout?: Duration
    /**
     * Age of a list by which a call finds its upstream, if several upstreams may have the entry. Lists of clients are always read, and so is a
     * list that lacks the entry. 0: each call reads the lists. Default: 30 seconds.
     */
    listMaxAge?: Duration
    /**
     * Scopes that a token needs to use the entries of the upstream: all scopes of the list, or those that a function returns for an entry.
     * `[]` admits every caller that `auth` accepts. Default: every caller; `bearer({ requireScopesEverywhere: true })` then rejects the proxy.
     */
    scopes?: readonly string[] | ((entry: ForwardedEntry) => readonly string[])
    /**
     * Lets callers with equal headers share one upstream session, in which the upstream may mix up their data. Default: false; each principal
     * has its own, and without a principal each session of this server, or each call.
     */
    sharedSessions?: boolean
    /**
     * Sends requests to the upstream, for example through a service binding. What it throws at once, and a `TypeError` or `ReferenceError` of
     * its own code, such as for a missing binding, is an internal error of that call; any other rejection is a failure of the upstream.
     * Default: the global `fetch`.
     */
    fetch?: (url: string, init: RequestInit) => Promise<Response>
  }
