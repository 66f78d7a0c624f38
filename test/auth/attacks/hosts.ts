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
    'a name that was made to point at this machine (DNS rebinding)',
    (stage) => [`Host: evil.example.com:${port(stage)}`],
    notServed('evil.example.com'),
  ),
  to(
    'the same, by a page of that name',
    (stage) => [`Host: evil.example.com:${port(stage)}`, `Origin: http://evil.example.com:${port(stage)}`],
    notServed('evil.example.com'),
  ),
  to(
    'the same, by a page that may call',
    () => ['Host: evil.example.com', 'Origin: https://app.example.com'],
    notServed('evil.example.com'),
  ),
  to('this machine as the beginning of a name', () => ['Host: localhost.evil.com'], notServed('localhost.evil.com')),
  to(
    'the address of this machine as the beginning of a name',
    () => ['Host: 127.0.0.1.evil.com'],
    notServed('127.0.0.1.evil.com'),
  ),
  to('an address of the network', () => ['Host: 192.168.0.1'], notServed('192.168.0.1')),
  to('the address of nothing', () => ['Host: 0.0.0.0'], notServed('0.0.0.0')),
  to(
    'the host that a proxy says it was: X-Forwarded-Host is not believed',
    () => ['X-Forwarded-Host: evil.example.com', 'X-Forwarded-Proto: https', 'Forwarded: host=evil.example.com'],
    good,
    { host: true },
  ),
  {
    name: 'X-Forwarded-Host does not find its way into a challenge',
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
    name: 'a token for another port of this machine, which is also what the Host says: a server with a resource of its own knows its name',
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
    name: 'a server with a resource of its own is not renamed by the Host in its challenge',
    by: async (stage) => stage.raw(await wire(stage, ['Host: localhost:1'], { target: '/named/mcp', host: false })),
    outcome: {
      ...anonymous,
      challenge: anonymous.challenge?.replace(
        'http://here/.well-known/oauth-protected-resource/mcp',
        'https://mcp.example.com/.well-known/oauth-protected-resource/named/mcp',
      ),
    },
  },
  to('an absolute target that names another host than the header: the header counts, for everything', () => [], good, {
    target: 'http://evil.example.com/mcp',
    host: true,
  }),
  to(
    'a header that names another host than the absolute target',
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
  to('the endpoint, reached by a way up: still with a token', () => [], good, { target: '/a/../mcp', host: true }),
  to('two hosts', (stage) => [`Host: ${stage.server.url.host}`, 'Host: evil.example.com'], unnamed),
]

export const addressed: Readonly<Record<string, readonly Attack[]>> = { 'hosts and targets': hosts }
