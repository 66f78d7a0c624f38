/** Tokens that are signed well, and are not for this. */
import { by, claims, compact } from './forge.ts'
import { type Attack, invalid, type Stage, unique, unknownKey } from './stage.ts'

const missing = (claim: string) => invalid(`The claim ${claim} of the token is missing or invalid`)
const notAString = (claim: string, found: string) =>
  invalid(`The claim "${claim}" of the token must be a non-empty string, not ${found}`)
const notAccepted = invalid('This server does not trust the issuer of the token: iss is …')
const anotherAudience = invalid('The token is for a different audience: this server accepts http://here/mcp')
const expired = invalid('The token has expired')
/** The same, in a request without a proof: the challenge offers DPoP. */
const bound = (message: string) => {
  const refused = invalid(message)
  const algorithms = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'
  return { ...refused, challenge: `${refused.challenge}, DPoP algs="${algorithms}"` }
}
const boundToKey = bound(
  'The token is bound to a key: send "Authorization: DPoP" with it, and a proof in the header DPoP',
)
const boundToCertificate = bound('Tokens that are bound to a certificate (mutual TLS) are not supported')
const boundToNothing = bound('The claim cnf of the token must have jkt, the thumbprint of a key: RFC 9449, section 6')
const noAccessToken = invalid('The token is not an access token')
const letIn = (...seen: unknown[]) => ({ status: 200, result: JSON.stringify(seen) })

type Make = (stage: Stage) => object
const now = () => Math.floor(Date.now() / 1000)

/** A token with these claims, signed by the issuer's own key. */
const claiming = (what: string, changes: Make, outcome: unknown, name = 'read'): Attack => ({
  name: what,
  by: (stage) => {
    const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'at+jwt' }
    return stage.call(compact(header, claims(stage, { jti: unique(), ...changes(stage) }), by(stage.keys.ES256)), name)
  },
  outcome,
  ran: (outcome as { status: number }).status === 200 ? [name] : [],
})

/** The same, of claims as they are written. */
const written = (what: string, text: (stage: Stage) => string, outcome: unknown, name = 'who'): Attack => ({
  name: what,
  by: (stage) => {
    const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'at+jwt' }
    return stage.call(compact(header, text(stage), by(stage.keys.ES256)), name)
  },
  outcome,
  ran: (outcome as { status: number }).status === 200 ? [name] : [],
})

const issuers: Attack[] = [
  claiming('an issuer that the server does not trust', ({ stranger }) => ({ iss: stranger.issuer }), notAccepted),
  claiming('the issuer with a slash behind it', ({ issuer }) => ({ iss: `${issuer.issuer}/` }), notAccepted),
  claiming('the issuer with a path behind it', ({ issuer }) => ({ iss: `${issuer.issuer}/evil` }), notAccepted),
  claiming(
    'the issuer is the beginning of a longer host',
    ({ issuer }) => ({ iss: `${issuer.issuer}.evil.com` }),
    notAccepted,
  ),
  claiming('the issuer without its last character', ({ issuer }) => ({ iss: issuer.issuer.slice(0, -1) }), notAccepted),
  claiming('the issuer in capitals', ({ issuer }) => ({ iss: issuer.issuer.toUpperCase() }), notAccepted),
  claiming(
    'the issuer under another name of the machine',
    ({ issuer }) => ({ iss: issuer.issuer.replace('127.0.0.1', 'localhost') }),
    notAccepted,
  ),
  claiming(
    'the issuer over another scheme',
    ({ issuer }) => ({ iss: issuer.issuer.replace('http:', 'https:') }),
    notAccepted,
  ),
  claiming(
    'the issuer after userinfo in a URL',
    ({ issuer }) => ({ iss: issuer.issuer.replace('http://', 'http://evil@') }),
    notAccepted,
  ),
  claiming('the issuer with spaces around it', ({ issuer }) => ({ iss: ` ${issuer.issuer} ` }), notAccepted),
  claiming('a list with the issuer in it', ({ issuer }) => ({ iss: [issuer.issuer] }), notAccepted),
  claiming('no issuer', () => ({ iss: undefined }), notAccepted),
  claiming('an empty issuer', () => ({ iss: '' }), notAccepted),
  claiming('the issuer is a number', () => ({ iss: 1 }), notAccepted),
  claiming('the issuer is __proto__', () => ({ iss: '__proto__' }), notAccepted),
  claiming(
    'the other accepted issuer, signed with the key of the first',
    ({ other }) => ({ iss: other.issuer }),
    unknownKey,
  ),
]

const audiences: Attack[] = [
  claiming(
    'another path of the same host',
    ({ audience }) => ({ aud: audience.replace('/mcp', '/api') }),
    anotherAudience,
  ),
  claiming('a path below the audience', ({ audience }) => ({ aud: `${audience}/admin` }), anotherAudience),
  claiming('the audience with a slash behind it', ({ audience }) => ({ aud: `${audience}/` }), anotherAudience),
  claiming('the audience with a query', ({ audience }) => ({ aud: `${audience}?a=b` }), anotherAudience),
  claiming('the audience with a fragment', ({ audience }) => ({ aud: `${audience}#a` }), anotherAudience),
  claiming('a longer URL that begins with the audience', ({ audience }) => ({ aud: `${audience}2` }), anotherAudience),
  claiming('the audience in capitals', ({ audience }) => ({ aud: audience.toUpperCase() }), anotherAudience),
  claiming(
    'the path of the audience in capitals',
    ({ audience }) => ({ aud: audience.replace('/mcp', '/MCP') }),
    anotherAudience,
  ),
  claiming(
    'the path of the audience, percent-encoded',
    ({ audience }) => ({ aud: audience.replace('/mcp', '/%6dcp') }),
    anotherAudience,
  ),
  claiming(
    'the next port of the same host',
    ({ server }) => ({ aud: `http://127.0.0.1:${Number(server.url.port) - 1}/mcp` }),
    anotherAudience,
  ),
  claiming('the audience without its port', () => ({ aud: 'http://127.0.0.1/mcp' }), anotherAudience),
  claiming(
    'the audience with another scheme',
    ({ audience }) => ({ aud: audience.replace('http:', 'https:') }),
    anotherAudience,
  ),
  claiming(
    'the audience under another name of the machine',
    ({ audience }) => ({ aud: audience.replace('127.0.0.1', 'localhost') }),
    anotherAudience,
  ),
  claiming('the origin of the audience', ({ server }) => ({ aud: server.url.origin }), anotherAudience),
  claiming('the host of the audience', ({ server }) => ({ aud: server.url.host }), anotherAudience),
  claiming('the path of the audience', () => ({ aud: '/mcp' }), anotherAudience),
  claiming('everybody', () => ({ aud: '*' }), anotherAudience),
  claiming(
    'a host with the audience as userinfo',
    ({ server }) => ({ aud: `http://${server.url.host}@evil.example.com/mcp` }),
    anotherAudience,
  ),
  claiming('the issuer as audience', ({ issuer }) => ({ aud: issuer.issuer }), anotherAudience),
  claiming(
    'an ID token, whose audience is the client',
    () => ({ aud: 'client', nonce: 'n', at_hash: 'a' }),
    anotherAudience,
  ),
  claiming(
    'a list of other audiences',
    ({ audience }) => ({ aud: [`${audience}/a`, 'https://mcp.example.com/mcp'] }),
    anotherAudience,
  ),
  claiming('a list that contains a list with the audience', ({ audience }) => ({ aud: [[audience]] }), anotherAudience),
  claiming('an object that contains the audience', ({ audience }) => ({ aud: { [audience]: true } }), anotherAudience),
  claiming(
    'the audience among others in one string',
    ({ audience }) => ({ aud: `https://a.example ${audience}` }),
    anotherAudience,
  ),
  claiming('an empty list', () => ({ aud: [] }), anotherAudience),
  claiming('an empty string', () => ({ aud: '' }), anotherAudience),
  claiming('a number', () => ({ aud: 7 }), anotherAudience),
  claiming('true', () => ({ aud: true }), anotherAudience),
  claiming('nobody', () => ({ aud: null }), anotherAudience),
  claiming(
    'no audience, but the audience as the claim resource',
    ({ audience }) => ({ aud: undefined, resource: audience }),
    anotherAudience,
  ),
  claiming(
    'the URL of the HTTP+SSE endpoint, which requires another audience',
    ({ server }) => ({ aud: new URL('/sse', server.url).href }),
    anotherAudience,
  ),
  claiming(
    'a list of several audiences, this server among them',
    ({ audience }) => ({ aud: ['https://a.example', audience] }),
    { status: 200, result: 'read' },
  ),
  claiming('no audience', () => ({ aud: undefined }), anotherAudience),
]

const times: Attack[] = [
  claiming('expired a minute ago', () => ({ exp: now() - 60 }), expired),
  claiming('expired just past the tolerance of thirty seconds', () => ({ exp: now() - 31 }), expired),
  claiming('expired at time 0', () => ({ exp: 0 }), expired),
  claiming('expired before time 0', () => ({ exp: -1 }), expired),
  claiming('expires at minus infinity', () => ({ exp: -1e300 }), expired),
  claiming('valid only in a minute', () => ({ nbf: now() + 60 }), invalid('The token is not valid yet')),
  claiming('valid only in the far future', () => ({ nbf: 1e300 }), invalid('The token is not valid yet')),
  claiming('nbf is a string', () => ({ nbf: String(now() - 60) }), invalid('The token is not valid yet')),
  claiming('exp is a string', () => ({ exp: String(now() + 600) }), missing('exp')),
  claiming('exp is a list', () => ({ exp: [now() + 600] }), missing('exp')),
  claiming('exp is true', () => ({ exp: true }), missing('exp')),
  claiming('exp is null', () => ({ exp: null }), missing('exp')),
  claiming('exp is NaN, as JSON writes it', () => ({ exp: Number.NaN }), missing('exp')),
  claiming('exp is the word Infinity', () => ({ exp: 'Infinity' }), missing('exp')),
  claiming('no exp', () => ({ exp: undefined }), missing('exp')),
  claiming('iat is a string', () => ({ iat: 'yesterday' }), missing('iat')),
  claiming('exp in milliseconds is accepted as a time in the far future', () => ({ exp: Date.now() }), {
    status: 200,
    result: 'read',
  }),
]

const kinds: Attack[] = [
  ...[
    'logout+jwt',
    'secevent+jwt',
    'dpop+jwt',
    'id_token+jwt',
    'application/logout+jwt',
    'LOGOUT+JWT',
    'token-introspection+jwt',
    'oauth-authz-req+jwt',
    'client-authentication+jwt',
    'kb+jwt',
    'dc+sd-jwt',
    'at+jwt2',
    ' at+jwt',
    '',
  ].map(
    (typ): Attack => ({
      name: `a token of the type ${JSON.stringify(typ)}, signed with the same key`,
      by: (stage) => {
        const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ }
        return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
      },
      outcome: noAccessToken,
    }),
  ),
  ...[7, null, ['at+jwt'], {}].map(
    (typ): Attack => ({
      name: `a token whose type is not a string: ${JSON.stringify(typ)}`,
      by: (stage) => {
        const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ }
        return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
      },
      outcome: noAccessToken,
    }),
  ),
  claiming('bound to a key by its thumbprint (DPoP)', () => ({ cnf: { jkt: 'a'.repeat(43) } }), boundToKey),
  claiming('bound to a certificate', () => ({ cnf: { 'x5t#S256': 'a'.repeat(43) } }), boundToCertificate),
  claiming('bound by an empty cnf', () => ({ cnf: {} }), boundToNothing),
  claiming('cnf is null', () => ({ cnf: null }), boundToNothing),
]

const names: Attack[] = [
  written(
    'two subjects: the last one counts, as RFC 7519 requires',
    (stage) => JSON.stringify(claims(stage)).replace('"sub":"ada"', '"sub":"root","sub":"ada"'),
    letIn('ada', 'client', null, ['notes:read']),
  ),
  written(
    'two issuers: the last one is not trusted',
    (stage) => JSON.stringify(claims(stage)).replace(/}$/, `,"iss":"${stage.stranger.issuer}"}`),
    notAccepted,
  ),
  written(
    'two audiences: the last one is another server',
    (stage) => JSON.stringify(claims(stage)).replace(/}$/, ',"aud":"https://a.example"}'),
    anotherAudience,
  ),
  written(
    'two expiry times: the last one has passed',
    (stage) => JSON.stringify(claims(stage)).replace(/}$/, ',"exp":1}'),
    expired,
  ),
  written(
    'scopes and a tenant in a claim named __proto__',
    (stage) =>
      JSON.stringify(claims(stage, { scope: undefined })).replace(
        /}$/,
        ',"__proto__":{"scope":"admin","org_id":"acme"}}',
      ),
    letIn('ada', 'client', null, []),
  ),
  claiming(
    'no subject, but a client, a common name and a user name',
    () => ({ sub: undefined, azp: 'client', common_name: 'ada', preferred_username: 'ada' }),
    invalid('The token has no subject: it needs the claim sub'),
  ),
  claiming(
    'an empty subject and a common name',
    () => ({ sub: '', common_name: 'ada' }),
    notAString('sub', 'an empty string'),
  ),
  claiming('the subject is a list', () => ({ sub: ['ada'], client_id: undefined }), notAString('sub', 'a list')),
  claiming('the subject is a number', () => ({ sub: 1, client_id: undefined }), notAString('sub', 'a number')),
]

const organisations: Attack[] = [
  claiming('a tenant that is a list', () => ({ org_id: ['acme'] }), notAString('org_id', 'a list')),
  claiming('a tenant that is an object', () => ({ org_id: { acme: true } }), notAString('org_id', 'an object')),
  claiming('a tenant that is a number', () => ({ org_id: 7 }), notAString('org_id', 'a number')),
]

export const claimed: Readonly<Record<string, readonly Attack[]>> = {
  'wrong issuers': issuers,
  'wrong audiences': audiences,
  'wrong times': times,
  'tokens of other kinds': kinds,
  'doubtful names': names,
  'doubtful tenants': organisations,
}
