/** Names that a server is called by, and targets. */
import { by, claims, compact } from './forge.ts'
import { type Attack, anonymous, invalid, type Seen, type Stage } from './stage.ts'
import { wire } from './wire.ts'

const read = { name: 'read', arguments: {} }

const good = { status: 200, result: 'read' }

export const notServed = (host: string) => ({
  status: 403,
  code: -32600,
  message: `The host ${host} is not allowed: add it to the option hosts`,
})

/** A good request, as it goes over the wire, to another host. */
const to = (
  what: string,
  lines: (stage: Stage) => readonly string[],
  outcome: unknown,
  { target = '/mcp', host = false } = {},
): Attack => ({
  name: what,
  by: async (stage) =>
    stage.raw(await wire(stage, [...lines(stage), `Authorization: Bearer ${await stage.token()}`], { target, host })),
  outcome,
  ran: (outcome as Seen).status === 200 ? ['read'] : [],
})

const port = ({ server }: Stage) => server.url.port

/** What the runtime makes of it, before anybody is asked. */
const unnamed = { status: 500, result: 'Internal Server Error' }

const hosts: Attack[] = [
  to(
    'a host name that resolves to this machine (DNS rebinding)',
    (stage) => [`Host: evil.example.com:${port(stage)}`],
    notServed('evil.example.com'),
  ),
  to(
    'the same host name as the origin of a page',
    (stage) => [`Host: evil.example.com:${port(stage)}`, `Origin: http://evil.example.com:${port(stage)}`],
    notServed('evil.example.com'),
  ),
  to(
    'the same host name, called by a page of an allowed origin',
    () => ['Host: evil.example.com', 'Origin: https://app.example.com'],
    notServed('evil.example.com'),
  ),
  to('a host name that begins with localhost', () => ['Host: localhost.evil.com'], notServed('localhost.evil.com')),
  to('a host name that begins with 127.0.0.1', () => ['Host: 127.0.0.1.evil.com'], notServed('127.0.0.1.evil.com')),
  to('an IP address of the local network', () => ['Host: 192.168.0.1'], notServed('192.168.0.1')),
  to('the address 0.0.0.0', () => ['Host: 0.0.0.0'], notServed('0.0.0.0')),
  to(
    'X-Forwarded-Host, which the server ignores',
    // The local runtime itself reads X-Forwarded-Proto.
    () => ['X-Forwarded-Host: evil.example.com', 'Forwarded: host=evil.example.com'],
    good,
    { host: true },
  ),
  {
    name: 'X-Forwarded-Host does not occur in a challenge',
    by: (stage) =>
      stage.ask('tools/call', read, {
        headers: {
          'X-Forwarded-Host': 'evil.example.com',
          'X-Original-Host': 'evil.example.com',
          Forwarded: 'host=evil.example.com',
        },
      }),
    outcome: anonymous,
  },
  {
    name: 'a token for another port of this machine, with that port in Host: a server with `resource` uses its own',
    by: async (stage) => {
      const iss = stage.issuer.issuer
      const token = compact(
        { alg: 'ES256', kid: stage.keys.ES256.kid },
        claims(stage, { iss, aud: 'http://127.0.0.1:1/named/mcp' }),
        by(stage.keys.ES256),
      )
      return stage.raw(
        await wire(stage, ['Host: 127.0.0.1:1', `Authorization: Bearer ${stage.keep(token)}`], {
          target: '/named/mcp',
          host: false,
        }),
      )
    },
    outcome: {
      ...invalid('The token is for a different audience: this server accepts https://mcp.example.com/named/mcp'),
      challenge: invalid(
        'The token is for a different audience: this server accepts https://mcp.example.com/named/mcp',
      ).challenge?.replace(
        'http://here/.well-known/oauth-protected-resource/mcp',
        'https://mcp.example.com/.well-known/oauth-protected-resource/named/mcp',
      ),
    },
  },
  {
    name: 'the challenge of a server with `resource` does not depend on Host',
    by: async (stage) => stage.raw(await wire(stage, ['Host: localhost:1'], { target: '/named/mcp', host: false })),
    outcome: {
      ...anonymous,
      challenge: anonymous.challenge?.replace(
        'http://here/.well-known/oauth-protected-resource/mcp',
        'https://mcp.example.com/.well-known/oauth-protected-resource/named/mcp',
      ),
    },
  },
  to('an absolute request target with another host than the Host header, which counts', () => [], good, {
    target: 'http://evil.example.com/mcp',
    host: true,
  }),
  to(
    'a Host header with another host than the absolute request target',
    () => ['Host: evil.example.com'],
    notServed('evil.example.com'),
    { target: 'http://127.0.0.1/mcp' },
  ),
  to(
    'a target that begins with two slashes',
    () => [],
    { status: 404, result: 'Not found. The MCP endpoint is /mcp\n' },
    { target: '//evil.example.com/mcp', host: true },
  ),
  to(
    'the endpoint with a slash behind it',
    () => [],
    { status: 404, result: 'Not found. The MCP endpoint is /mcp\n' },
    { target: '/mcp//x', host: true },
  ),
  to('the endpoint by a path with "..", which requires a token as well', () => [], good, {
    target: '/a/../mcp',
    host: true,
  }),
  to('two Host headers', (stage) => [`Host: ${stage.server.url.host}`, 'Host: evil.example.com'], unnamed),
]

export const addressed: Readonly<Record<string, readonly Attack[]>> = { 'hosts and targets': hosts }
