/** The configurations that docs/guides/authorization-servers.md shows, so that they are compiled. */
import { bearer, cloudflareAccess, oauthProvider } from 'edgemcp/auth'

export const auth0 = bearer({
  issuer: 'https://example.eu.auth0.com/',
  audience: 'https://mcp.example.com/mcp',
  algorithms: ['RS256'],
  tenantClaim: 'org_id',
  getScopes: ({ permissions }) => (Array.isArray(permissions) ? permissions : []),
})

const api = 'https://mcp.example.com/mcp'
const directory = '00000000-0000-0000-0000-000000000000'

export const entra = bearer({
  issuer: `https://login.microsoftonline.com/${directory}/v2.0`,
  audience: '11111111-1111-1111-1111-111111111111',
  algorithms: ['RS256'],
  tenantClaim: 'tid',
  getScopes: ({ scp = '' }) => `${scp}`.split(' ').map((scope) => `${api}/${scope}`),
  requiredScopes: [`${api}/notes.read`],
})

export const keycloak = bearer({
  issuer: 'https://keycloak.example.com/realms/example',
  getScopes({ scope = '', realm_access }) {
    const { roles = [] } = (realm_access ?? {}) as { roles?: string[] }
    return [...String(scope).split(' '), ...roles]
  },
  impliedScopes: { editor: ['notes:read', 'notes:write'] },
})

export const cognito = bearer({
  issuer: 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_example',
  audience: false,
  algorithms: ['RS256'],
  // ID tokens are signed with the same keys.
  getScopes: ({ token_use, scope = '' }) => (token_use === 'access' ? String(scope).split(' ') : []),
  requiredScopes: ['notes/read'],
})

export const access = cloudflareAccess({
  team: 'example',
  audience: '0000000000000000000000000000000000000000000000000000000000000000',
  getScopes({ custom }) {
    const { groups = [] } = (custom ?? {}) as { groups?: string[] }
    return groups
  },
  impliedScopes: { editors: ['notes:read', 'notes:write'] },
})

type Props = { userId: string }
type Granted = { scope: string[]; clientId?: string }

export const provided = oauthProvider<Props, Granted>(({ userId }, { scope, clientId }) => ({
  issuer: 'https://mcp.example.com',
  subject: userId,
  client: clientId,
  scopes: scope,
  claims: {},
}))
