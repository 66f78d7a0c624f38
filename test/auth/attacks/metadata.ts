/** What is answered to everybody. */
import { notServed } from './hosts.ts'
import { type Attack, anonymous } from './stage.ts'

/** A metadata document, or what is there instead. */
const document = (
  what: string,
  path: string,
  outcome: unknown,
  http = 'GET',
  headers: Record<string, string> = {},
): Attack => ({
  name: what,
  by: async (stage) => {
    const response = await stage.fetch({ path, http, headers })
    const text = stage.told(await response.text())
    const value = text.startsWith('{') ? JSON.parse(text) : text
    return {
      status: response.status,
      resource: value.resource ?? value.issuer ?? value,
      origin: response.headers.get('Access-Control-Allow-Origin'),
    }
  },
  outcome,
})

const base = '/.well-known/oauth-protected-resource'

const open = { status: 200, origin: '*' }

const nothing = { status: 404, resource: 'Not found. The MCP endpoint is /mcp\n', origin: null }

const metadata: Attack[] = [
  document('of the endpoint, without a token', `${base}/mcp`, { ...open, resource: 'http://here/mcp' }),
  document('of the origin, without a token', base, { ...open, resource: 'http://here/mcp' }),
  document('of HTTP+SSE', `${base}/sse`, { ...open, resource: 'http://here/sse' }),
  document('with an invalid token: it is public', `${base}/mcp`, { ...open, resource: 'http://here/mcp' }, 'GET', {
    Authorization: 'Bearer a.b.c',
  }),
  document('from a foreign origin: it is public', `${base}/mcp`, { ...open, resource: 'http://here/mcp' }, 'GET', {
    Origin: 'https://evil.example.com',
  }),
  document('by HEAD', `${base}/mcp`, { ...open, resource: '' }, 'HEAD'),
  document('by POST', `${base}/mcp`, { status: 405, origin: '*', resource: '' }, 'POST'),
  document('by DELETE', `${base}/mcp`, { status: 405, origin: '*', resource: '' }, 'DELETE'),
  document('by PUT', `${base}/mcp`, { status: 405, origin: '*', resource: '' }, 'PUT'),
  document('by OPTIONS', `${base}/mcp`, { status: 204, origin: '*', resource: '' }, 'OPTIONS'),
  document('of an unknown endpoint', `${base}/admin`, nothing),
  document('with the path glued on', `${base}mcp`, nothing),
  document('of a path below the endpoint', `${base}/mcp/x`, nothing),
  document('with a slash behind it', `${base}/mcp/`, { ...open, resource: 'http://here/mcp' }),
  document('with "..", percent-encoded', `${base}/%2e%2e/%2e%2e/etc/passwd`, nothing),
  document('with "..", its slashes percent-encoded', `${base}/..%2f..%2fetc%2fpasswd`, nothing),
  document('with a null byte', `${base}/mcp%00`, nothing),
  document('with two slashes', `${base}//mcp`, nothing),
  document('with a URL as its path', `${base}/http://evil.example.com/mcp`, nothing),
  document('with another host in a header', `${base}/mcp`, { ...open, resource: 'http://here/mcp' }, 'GET', {
    'X-Forwarded-Host': 'evil.example.com',
  }),
  document('with the well-known path in the query of the endpoint', `/mcp?a=${base}/mcp`, {
    status: 401,
    resource: { jsonrpc: '2.0', error: { code: -32600, message: anonymous.message } },
    origin: null,
  }),
  document('of the authorization server, for clients of 2025-03-26', '/.well-known/oauth-authorization-server', {
    ...open,
    resource: 'http://issuer',
  }),
  document(
    'of the authorization server, by POST',
    '/.well-known/oauth-authorization-server',
    { status: 405, origin: '*', resource: '' },
    'POST',
  ),
  document('of the authorization server, for another issuer', '/.well-known/oauth-authorization-server/evil', nothing),
  document('of an OpenID provider', '/.well-known/openid-configuration', nothing),
  document('of keys', '/jwks', nothing),
  document('of a server with `resource`', `${base}/named/mcp`, {
    ...open,
    resource: 'https://mcp.example.com/named/mcp',
  }),
  ...['evil.example.com', '127.0.0.1.evil.com'].map(
    (host): Attack => ({
      name: `of a host that is not served: ${host}`,
      by: (stage) => stage.raw(`GET ${base}/mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      outcome: notServed(host),
    }),
  ),
]

export const described: Readonly<Record<string, readonly Attack[]>> = { metadata }
