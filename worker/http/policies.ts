import { checkBrowserPolicy } from './check-origins-and-hosts.ts'
import type { Policy } from './origin-and-host.ts'

export type BrowserOptions = {
  /** Origins of the pages that may call, such as `https://app.example.com`. */
  origins: readonly string[]
  /** Host names, without port, that the server is known under. Left out, every https host. */
  hosts?: readonly string[]
}

/**
 * Who may call a server from where. Each is a part of the options of `serve`. What is no page may always call: its token says
 * who that is, not the place it calls from.
 *
 * @example
 * serve(server, { auth, ...policies.browser({ origins: ['https://app.example.com'] }) })
 */
export const policies = {
  /** This machine only: under its own names, for its own pages. A deployment refuses every request. */
  local: { origins: [], hosts: ['localhost'] },

  /**
   * Every page there is. For servers that ask for a token, or that have nothing to hide: a page can do what anybody can do who
   * knows the address. Not for a server that trusts a network, a cookie or a client certificate, which browsers bring along.
   */
  public: { origins: ['*'], hosts: [] },

  /** These pages, and the server's own. @throws Error that says what to write instead */
  browser(options: BrowserOptions): Policy {
    checkBrowserPolicy(options)
    const { origins, hosts = [] } = options
    return { origins, hosts }
  },
} as const satisfies Record<string, Policy | ((options: BrowserOptions) => Policy)>
