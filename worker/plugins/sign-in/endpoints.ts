import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { AuthorizationServers } from './authorization-server.ts'
import type { IdentityProvider } from './providers/provider.ts'

/**
 * The endpoints of this isolate with sign-in, by their identity. Endpoints that are created on demand may have one identity and different
 * providers: those are told apart by the client that the developer registered there.
 */
export class Endpoints {
  readonly #servers = new BoundedMap<string, AuthorizationServers>({ maxEntries: 10_000 })
  readonly #providers = new BoundedMap<string, IdentityProvider>({ maxEntries: 10_000 })

  add(identity: string, servers: AuthorizationServers, providers: readonly IdentityProvider[]): void {
    this.#servers.set(identity, servers)
    for (const provider of providers) {
      this.#providers.set(JSON.stringify([identity, provider.name, provider.clientId]), provider)
    }
  }

  servers(identity: string): AuthorizationServers | undefined {
    return this.#servers.get(identity)
  }

  provider(identity: string, name: string, clientId: string | undefined): IdentityProvider | undefined {
    return this.#providers.get(JSON.stringify([identity, name, clientId]))
  }
}
