import { type BrowserOptions, checkBrowserPolicy } from './check-origins-and-hosts.ts'
import type { Policy } from './origin-and-host.ts'

/**
 * Provides values for the options `origins` and `hosts` of `serve()`, which decide which web pages and host names may call. Clients that
 * are not browsers send no `Origin`, so only `hosts` applies to them.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 *
 * @example
 * serve(server, { auth, ...policies.browser({ origins: ['https://app.example.com'] }) })
 */
export const policies = {
  /** Accepts this machine only: under its own names, and from pages on it. A deployed Worker rejects every request. */
  local: { origins: [], hosts: ['localhost'] },

  /**
   * Accepts every page, under every https host. For servers that require a token or have no private data. Not for a server that trusts a network, a cookie or a
   * client certificate, because browsers add those to requests of any page.
   */
  public: { origins: ['*'], hosts: [] },

  /**
   * Accepts the pages of `options.origins`, and pages of the server's own origin.
   *
   * @throws Error for an invalid origin or host. The message names the fix
   */
  browser(options: BrowserOptions): Policy {
    checkBrowserPolicy(options)
    const { origins, hosts = [] } = options
    return { origins, hosts }
  },
} as const satisfies Record<string, Policy | ((options: BrowserOptions) => Policy)>
