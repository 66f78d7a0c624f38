/** Servers behind something that has checked who comes in. */
import { McpError } from '../protocol/errors.ts'
import type { Principal } from '../protocol/principal.ts'
import type { Auth } from './auth.ts'
import { type BearerOptions, resourceServer } from './bearer.ts'

export type AccessOptions = Omit<BearerOptions, 'issuer' | 'keys' | 'audience' | 'introspection' | 'resource'> & {
  /** The team's name, as in `<team>.cloudflareaccess.com`. */
  team: string
  /** The application's audience tag. */
  audience: string | readonly string[]
}

/**
 * A server behind Cloudflare Access, which adds a signed assertion to each request.
 *
 * @see https://developers.cloudflare.com/cloudflare-one/identity/authorization-cookie/validating-json/
 */
export function cloudflareAccess({ team, audience, ...options }: AccessOptions): Auth {
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
 * A server behind `@cloudflare/workers-oauth-provider`, which has checked the token and hands over what it knows as
 * `ctx.props`.
 *
 * @param principal who that is; `undefined`: nobody
 */
export const oauthProvider = <Props>(principal: (props: Props) => Principal | undefined): Auth => ({
  async authenticate(_request, _site, { props }) {
    const found =
      typeof props === 'object' && props !== null && Object.keys(props).length > 0 && principal(props as Props)
    if (!found)
      throw new McpError('unauthorized', 'Authorization is required', undefined, { 'WWW-Authenticate': 'Bearer' })
    return found
  },
})
