import type { KeptTokens } from '../../../durable-objects/rpc.ts'
import { BoundedMap } from '../../protocol/bounded-map.ts'
import type { IdentityProvider } from './providers/provider.ts'

type Client = Pick<KeptTokens, 'issuer' | 'clientId'>

/** The clients of providers in this isolate. What no request of an endpoint causes uses them: tokens are revoked when the last grant expires. */
export class KnownClients {
  readonly #providers = new BoundedMap<string, IdentityProvider>({ maxEntries: 10_000 })

  add(provider: IdentityProvider): void {
    this.#providers.set(keyOf(provider), provider)
  }

  find(client: Client): IdentityProvider | undefined {
    return this.#providers.get(keyOf(client))
  }
}

const keyOf = ({ issuer, clientId }: Client): string => JSON.stringify([issuer, clientId])
