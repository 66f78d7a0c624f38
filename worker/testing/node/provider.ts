import { type FakeProvider, Provider, type ProviderUser } from '../provider/fake-provider.ts'
import { listen } from './listen.ts'

/** Configures `startProvider()`. */
export type ProviderOptions = {
  /** The users who can sign in. */
  users: ProviderUser[]
  /** Port on which it listens. Default: one that is free. */
  port?: number
}

/** Stands in for an identity provider, on a port of this machine. `startProvider()` returns it. */
export interface StartedProvider extends FakeProvider, AsyncDisposable {
  /** Stops it. */
  close(): Promise<void>
}

/**
 * Starts a fake identity provider on this machine, for servers with `signIn()`. It answers as GitHub does, and as a provider with OpenID
 * Connect.
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html
 *
 * @example
 * const provider = await startProvider({ users: [{ id: 1, login: 'ada', organizations: ['engines'] }] })
 * const vars = { GITHUB_URL: provider.url, GITHUB_ID: provider.clientId, GITHUB_SECRET: provider.clientSecret }
 * const server = await startServer({ config: 'wrangler.toml', vars })
 * const client = await connect(server, { revision: '2025-11-25', token: provider.tokenFor('ada') })
 */
export async function startProvider({ users, port }: ProviderOptions): Promise<StartedProvider> {
  let provider: Provider | undefined
  const { url, close } = await listen((request) => provider?.respond(request), port)
  provider = new Provider(url, users)
  return Object.assign(provider, { close, [Symbol.asyncDispose]: close })
}
