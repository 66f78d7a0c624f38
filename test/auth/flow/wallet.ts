import type { OAuthClientProvider, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'

type Discovered = Parameters<NonNullable<OAuthClientProvider['saveDiscoveryState']>>[0]

/** What a client keeps about one server, in memory. It is what both published clients ask for. */
export class Wallet implements OAuthClientProvider {
  readonly redirectUrl: string
  readonly clientMetadata
  readonly clientMetadataUrl?: string
  /** Where the client wants its user to go. */
  sentTo: URL | undefined
  client: StoredOAuthClientInformation | undefined
  held: StoredOAuthTokens | undefined
  #verifier = ''
  #discovered: Discovered | undefined

  /** @param clientMetadataUrl where the client describes itself, to be its id */
  constructor(clientMetadataUrl?: string, redirectUrl = 'http://127.0.0.1:9/callback') {
    this.redirectUrl = redirectUrl
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
    this.clientMetadata = {
      client_name: 'A client',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }

  clientInformation = () => this.client
  saveClientInformation(client: StoredOAuthClientInformation) {
    this.client = client
  }
  tokens = () => this.held
  saveTokens(tokens: StoredOAuthTokens) {
    this.held = tokens
  }
  redirectToAuthorization(url: URL) {
    this.sentTo = url
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }
  codeVerifier = () => this.#verifier
  discoveryState = () => this.#discovered
  saveDiscoveryState(discovered: Discovered) {
    this.#discovered = discovered
  }
  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (what === 'all' || what === 'client') this.client = undefined
    if (what === 'all' || what === 'tokens') this.held = undefined
    if (what === 'all' || what === 'discovery') this.#discovered = undefined
  }
}
