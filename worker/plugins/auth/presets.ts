/** Auth for servers behind a gateway that has verified the caller: Cloudflare Access, workers-oauth-provider. */
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { Auth } from '../../plugin.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Principal } from '../../protocol/principal.ts'
import { type BearerOptions, bearerKinds, storedKinds } from './bearer-options.ts'
import { challengeError, insufficientScope, metadataUrlFor, missingScopes } from './challenge-error.ts'
import { metadataUrl } from './metadata.ts'
import { resourceServer } from './resource-server.ts'

/** Configures `cloudflareAccess()`. The other options are those of `bearer()`. */
export type CloudflareAccessOptions = Omit<
  BearerOptions,
  'issuer' | 'keys' | 'audience' | 'introspection' | 'resource' | 'dpop'
> & {
  /** Name of the team: `<team>.cloudflareaccess.com`. */
  team: string
  /** Audience tag (AUD) of the Access application, or several. */
  audience: string | readonly string[]
  /** Accepts service tokens, which have no user: `common_name` of the assertion is the subject. Default: false. */
  serviceTokens?: boolean
}

const {
  issuer: _issuer,
  keys: _keys,
  introspection: _introspection,
  resource: _resource,
  dpop: _dpop,
  ...common
} = bearerKinds
const accessKinds: KindsOf<CloudflareAccessOptions> = {
  team: kind.required(kind.name),
  ...common,
  audience: kind.required([
    (value) => (kind.name[0](value) || kind.strings[0](value)) && String(value) !== '',
    'a non-empty string, or a list of strings',
  ]),
  serviceTokens: kind.flag,
}

/**
 * Creates the auth of a server behind Cloudflare Access, which adds a signed assertion to each request.
 *
 * @throws Error for an invalid option. The message names the fix
 * @see https://developers.cloudflare.com/cloudflare-one/identity/authorization-cookie/validating-json/
 *
 * @example
 * serve(server, { auth: cloudflareAccess({ team: 'example', audience: '4714c1358e65fe4b408ad6d432a5f878' }) })
 */
export function cloudflareAccess(access: CloudflareAccessOptions): Auth {
  checkOptions('cloudflareAccess()', access, accessKinds)
  const { team, audience, ...options } = access
  const issuer = `https://${team}.cloudflareaccess.com`
  const keys = `${issuer}/cdn-cgi/access/certs`
  return resourceServer(
    { ...options, issuer, keys, audience, dpop: false },
    {
      token({ headers }) {
        const token = headers.get('Cf-Access-Jwt-Assertion')
        return token === null ? undefined : { token }
      },
      // Access repeats the assertion in a cookie, and passes on what its clients send to it.
      credentialHeaders: ['Cf-Access-Jwt-Assertion', 'Cookie', 'Cf-Access-Token', 'Cf-Access-Client-Secret'],
      credentials: [{ header: 'Cf-Access-Jwt-Assertion' }],
      isDescribed: false,
    },
  )
}

/**
 * Creates the auth of a server behind `@cloudflare/workers-oauth-provider`, which verifies the token and passes on `ctx.props` and, since
 * newer versions, `ctx.auth`, whose `scope` is what the token allows.
 *
 * @param principal converts them into a principal; `undefined` rejects the request with 401
 * @param stored decides what tasks store of the principal, and how they look it up again. Default: no claims
 * @throws Error for an invalid argument. The message names the fix
 * @see https://github.com/cloudflare/workers-oauth-provider
 *
 * @example
 * const throughProvider = oauthProvider((props: { id: string }, { scope, clientId }: { scope: string[]; clientId?: string }) => (
 *   { issuer: 'https://mcp.example.com', subject: props.id, client: clientId, scopes: scope, claims: {} }))
 */
export function oauthProvider<Props, Granted = unknown>(
  principal: (props: Props, auth: Granted) => Principal | undefined,
  stored: StoredPrincipals = {},
): Auth {
  checkValue('oauthProvider()', 'principal', principal, kind.fn)
  checkOptions('oauthProvider()', stored, storedKinds)
  return {
    ...stored,
    async authenticate(request, serverInfo, incoming) {
      const { props, auth } = incoming.context
      const isGiven = typeof props === 'object' && props !== null && Object.keys(props).length > 0
      // The caller names the types of what its OAuth provider hands over.
      const user = isGiven ? principal(props as Props, auth as Granted) : undefined
      if (user) {
        // Seconds since 1970. The provider verifies a token once: it does not say when one is revoked.
        const expires = 1000 * Object(auth).expiresAt
        if (expires > 0) incoming.credential = { expires }
        return user
      }
      const refused = { kind: 'unauthorized', message: 'Authorization is required', challenge: {} } as const
      throw challengeError(refused, providerMetadata(auth) ?? metadataUrlFor(request, serverInfo))
    },
    async authorize(incoming, serverInfo) {
      const scopes = await missingScopes(incoming, serverInfo)
      if (scopes.length === 0) return undefined
      return challengeError(
        insufficientScope(scopes, incoming.principal?.scopes ?? []),
        providerMetadata(incoming.context.auth) ?? metadataUrlFor(incoming.request, serverInfo),
      )
    },
  }
}

/** Returns the URL of the metadata that an OAuth provider serves for its resource, which is the audience of the token. */
function providerMetadata(auth: unknown): string | undefined {
  const audience = isObject(auth) ? auth.audience : undefined
  return typeof audience === 'string' && URL.canParse(audience) ? metadataUrl(audience) : undefined
}
