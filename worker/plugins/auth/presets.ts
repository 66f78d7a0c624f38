/** Servers behind something that has checked who comes in. */
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import * as kind from '../../declarations/option-kinds.ts'
import type { StoredPrincipals } from '../../declarations/stored-principal.ts'
import type { Principal } from '../../protocol/principal.ts'
import type { Auth } from '../../request-hooks.ts'
import { type BearerOptions, bearerKinds, storedKinds } from './bearer.ts'
import { challengeError, insufficientScope, metadataUrlFor, missingScopes } from './challenge-error.ts'
import { resourceServer } from './resource-server.ts'

export type CloudflareAccessOptions = Omit<
  BearerOptions,
  'issuer' | 'keys' | 'audience' | 'introspection' | 'resource'
> & {
  /** The team's name, as in `<team>.cloudflareaccess.com`. */
  team: string
  /** The application's audience tag. */
  audience: string | readonly string[]
}

const { issuer: _issuer, keys: _keys, introspection: _introspection, resource: _resource, ...common } = bearerKinds
const accessKinds: KindsOf<CloudflareAccessOptions> = {
  team: kind.required(kind.name),
  ...common,
  audience: kind.required([
    (value) => (kind.name[0](value) || kind.strings[0](value)) && String(value) !== '',
    'a non-empty string, or a list of strings',
  ]),
}

/**
 * A server behind Cloudflare Access, which adds a signed assertion to each request.
 *
 * @see https://developers.cloudflare.com/cloudflare-one/identity/authorization-cookie/validating-json/
 */
export function cloudflareAccess(access: CloudflareAccessOptions): Auth {
  checkOptions('cloudflareAccess()', access, accessKinds)
  const { team, audience, ...options } = access
  const issuer = `https://${team}.cloudflareaccess.com`
  const keys = `${issuer}/cdn-cgi/access/certs`
  return resourceServer(
    { ...options, issuer, keys, audience },
    {
      token({ headers }) {
        const token = headers.get('Cf-Access-Jwt-Assertion')
        return token === null ? undefined : { token }
      },
      isDescribed: false,
    },
  )
}

/**
 * A server behind `@cloudflare/workers-oauth-provider`, which has checked the token and hands over what it knows: `ctx.props`
 * and, of newer versions, `ctx.auth`, whose `scope` is what the token allows now.
 *
 * @param principal who that is; `undefined`: nobody
 * @param stored what tasks may store of it, and how it is looked up again
 * @example
 * oauthProvider((props: { id: string }, auth: { scope: string[] }) => (
 *   { issuer: 'https://mcp.example.com', subject: props.id, scopes: auth.scope, claims: {} }))
 */
export function oauthProvider<Props, Granted = unknown>(
  principal: (props: Props, auth: Granted) => Principal | undefined,
  stored: StoredPrincipals = {},
): Auth {
  checkValue('oauthProvider()', 'principal', principal, kind.fn)
  checkOptions('oauthProvider()', stored, storedKinds)
  return {
    ...stored,
    async authenticate(request, serverInfo, { context: { props, auth } }) {
      const isGiven = typeof props === 'object' && props !== null && Object.keys(props).length > 0
      // The caller names the types of what its OAuth provider hands over.
      const user = isGiven ? principal(props as Props, auth as Granted) : undefined
      if (user) return user
      const refused = { kind: 'unauthorized', message: 'Authorization is required', challenge: {} } as const
      throw challengeError(refused, metadataUrlFor(request, serverInfo))
    },
    async authorize(incoming, serverInfo) {
      const scopes = await missingScopes(incoming, serverInfo)
      if (scopes.length === 0) return undefined
      return challengeError(
        insufficientScope(scopes, incoming.principal?.scopes ?? []),
        metadataUrlFor(incoming.request, serverInfo),
      )
    },
  }
}
