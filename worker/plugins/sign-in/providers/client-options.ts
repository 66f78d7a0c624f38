/** Options that every identity provider has: the client that a developer registered there. */
import type { KindsOf } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { bearerKinds } from '../../auth/bearer-options.ts'
import type { Fetch } from '../../auth/fetch-json.ts'

/** Describes the client that you registered with a provider, and what it asks for. */
export type ClientOptions = {
  /** Id of the client that you registered with the provider. */
  clientId: string
  /** Secret of this client. */
  clientSecret: string
  /** Scopes that the provider is asked for. Default: those that tell who the user is. */
  scopes?: readonly string[]
  /** Scopes that `ctx.upstream()` may request later, beyond `scopes`. Default: none. */
  additionalScopes?: readonly string[]
  /**
   * Scopes of the provider that include others, and other spellings with which it answers: `{ 'files.all': ['files.read'] }`.
   * Default: those of the function, such as the scopes of GitHub.
   */
  impliedScopes?: Readonly<Record<string, readonly string[]>>
  /** Name of the provider in URLs and in `ctx.upstream()`. Default: that of the function. */
  name?: string
  /** Name of the provider for users. Default: that of the function. */
  title?: string
  /** Domains of the email addresses that the provider may state; other addresses are left out. Default: all. */
  emailDomains?: readonly string[]
  /** Additional parameters of the authorization request, such as `{ prompt: 'select_account' }`. Default: none. */
  authorizationParams?: Readonly<Record<string, string>>
  /** Sends requests to the provider. Default: the global `fetch`. */
  fetch?: Fetch
}

/** An address of a provider. */
export const url: typeof kind.string = [(value) => typeof value === 'string' && URL.canParse(value), 'an absolute URL']

/** Kinds of the options that every provider has. */
export const clientKinds: KindsOf<ClientOptions> = {
  clientId: kind.required(kind.name),
  clientSecret: kind.required(kind.name),
  scopes: kind.strings,
  additionalScopes: kind.strings,
  impliedScopes: bearerKinds.impliedScopes,
  name: [
    (value) => typeof value === 'string' && /^[a-z][a-z\d-]{0,31}$/.test(value),
    'lower-case letters, digits and -',
  ],
  title: kind.name,
  emailDomains: kind.strings,
  authorizationParams: kind.object(),
  fetch: kind.fn,
}
