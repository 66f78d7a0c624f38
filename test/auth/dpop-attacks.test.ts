/** What an attacker would send to a server that verifies DPoP, and the exact outcome. */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer, newKey } from './authorization-server.ts'
import { bearing, call } from './call.ts'
import { Holder, type ProofOptions } from './dpop/holder.ts'

let issuer: AuthorizationServer
let server: TestServer
let holder: Holder
/** The attacker's own key. */
let thief: Holder

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/dpop', { ISSUER: issuer.issuer })
  holder = await Holder.create()
  thief = await Holder.create()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

const at = (path = '/mcp') => new URL(path, server.url)
const now = () => Math.floor(Date.now() / 1000)
const algs = 'ES256 ES384 ES512 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512'

type Outcome = { status: number; message?: string; challenge?: string; subject?: string }

const quoted = (text: string) => text.replaceAll('"', "'")
const described = (url: URL) =>
  `resource_metadata="${url.origin}/.well-known/oauth-protected-resource${url.pathname}", scope="notes:write"`
const refused = (error: string, message: string, url: URL, offered = algs): Outcome => ({
  status: 401,
  message,
  challenge: `DPoP ${described(url)}, algs="${offered}", error="${error}", error_description="${quoted(message)}"`,
})
const badProof = (message: string) => (url: URL) => refused('invalid_dpop_proof', message, url)
const badToken = (message: string) => (url: URL) => refused('invalid_token', message, url)
const downgraded = (message: string) => (url: URL) => ({
  status: 401,
  message,
  challenge: `Bearer ${described(url)}, error="invalid_token", error_description="${quoted(message)}", DPoP algs="${algs}"`,
})
const served = () => ({ status: 200, subject: 'ada' })

async function send(url: URL, headers: HeadersInit): Promise<Outcome> {
  const { status, headers: answered, text } = await call(url, headers)
  const challenge = answered.get('WWW-Authenticate')
  if (status === 200) return { status, subject: JSON.parse(text).subject }
  return { status, message: text, ...(challenge !== null && { challenge }) }
}

const malformed = badProof('The DPoP proof is malformed')
const notOne = badProof('The header DPoP must be one JWT')
const otherKey = badToken('The token is bound to another key than that of the DPoP proof')
const wrongSignature = badProof('The signature of the DPoP proof is invalid')
const wrongUrl = (url: URL) => badProof(`The claim htu of the DPoP proof must be ${url.href}`)(url)
const wrongMethod = badProof('The claim htm of the DPoP proof must be POST')
const wrongHash = badProof('The claim ath of the DPoP proof must be the SHA-256 of the token, as base64url')
const wrongTime = badProof(
  'The claim iat of the DPoP proof is too far from the time of the server: make a proof for each request',
)
const wrongId = badProof('The claim jti of the DPoP proof must be a string of 1 to 256 characters')
const wrongType = badProof('The header typ of the DPoP proof must be dpop+jwt')
const wrongAlgorithm = badProof(`The header alg of the DPoP proof must be one of ${algs}`)
const noKey = badProof('The header jwk of the DPoP proof must be the public key')
const privateKey = badProof('The header jwk of the DPoP proof contains a private key: replace this key')
const badKey = badProof('The header jwk of the DPoP proof is not a valid public key')
const missing = badProof('The header DPoP is missing: send a proof with each request')
const notBound = badToken('The token is not bound to a key: send it as a bearer token')
const asBearer = downgraded(
  'The token is bound to a key: send "Authorization: DPoP" with it, and a proof in the header DPoP',
)
const used = badProof('The DPoP proof was used before: make a proof for each request')

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A proof whose signature is computed by hand. */
const handmade = async (header: object, sign: (input: string) => string, claims: object = {}) => {
  const token = await bound()
  const payload = {
    jti: randomUUID(),
    htm: 'POST',
    htu: at().href,
    iat: now(),
    ath: createHash('sha256').update(token).digest('base64url'),
    ...claims,
  }
  const input = `${part({ typ: 'dpop+jwt', jwk: holder.jwk, ...header })}.${part(payload)}`
  return { Authorization: `DPoP ${token}`, DPoP: `${input}.${sign(input)}` }
}

const bound = (claims = {}) => issuer.token(at().href, { ...holder.bound, ...claims })

type Row = [name: string, headers: () => Promise<HeadersInit>, outcome: (url: URL) => Outcome, path?: string]

/** A request whose proof differs from a valid one. */
const proving = (name: string, options: () => ProofOptions | Promise<ProofOptions>, outcome: Row[2]): Row => [
  name,
  async () => holder.headers(at(), await bound(), await options()),
  outcome,
]

const claiming = (name: string, claims: () => Record<string, unknown>, outcome: Row[2]): Row =>
  proving(name, () => ({ claims: claims() }), outcome)

/** A request with another text in the header DPoP. */
const showing = (name: string, shown: (proof: string) => string | Promise<string>, outcome: Row[2]): Row => [
  name,
  async () => {
    const headers = await holder.headers(at(), await bound())
    return { ...headers, DPoP: await shown(headers.DPoP ?? '') }
  },
  outcome,
]

const urls = (): Row[] => [
  claiming('htu of another path', () => ({ htu: at('/off/mcp').href }), wrongUrl),
  claiming('htu of a path below', () => ({ htu: `${at().href}/below` }), wrongUrl),
  claiming('htu of the origin', () => ({ htu: at('/').href }), wrongUrl),
  claiming('htu of another host', () => ({ htu: 'http://evil.example/mcp' }), wrongUrl),
  claiming('htu of another port', () => ({ htu: 'http://127.0.0.1:1/mcp' }), wrongUrl),
  claiming('htu of another scheme', () => ({ htu: at().href.replace('http:', 'https:') }), wrongUrl),
  claiming('htu with this URL in its user', () => ({ htu: `http://${at().host}@evil.example/mcp` }), wrongUrl),
  claiming('htu with a user', () => ({ htu: at().href.replace('http://', 'http://ada:secret@') }), wrongUrl),
  claiming('htu with this URL in its query', () => ({ htu: `http://evil.example/?${at().href}` }), wrongUrl),
  claiming('htu that is relative', () => ({ htu: '/mcp' }), wrongUrl),
  claiming('htu of another kind of URL', () => ({ htu: 'data:,/mcp' }), wrongUrl),
  claiming('htu in another case of the path', () => ({ htu: at('/MCP').href }), wrongUrl),
  claiming('htu with an encoded slash', () => ({ htu: `${at().origin}%2Fmcp` }), wrongUrl),
  claiming('htu with an encoded slash in the path', () => ({ htu: `${at().origin}/%2Fmcp` }), wrongUrl),
  claiming('no htu', () => ({ htu: undefined }), wrongUrl),
  claiming('htu that is a list', () => ({ htu: [at().href] }), wrongUrl),
  claiming('htu that is empty', () => ({ htu: '' }), wrongUrl),
  claiming('htu with a query is accepted without it', () => ({ htu: `${at().href}?a=1` }), served),
  claiming('htu with a fragment is accepted without it', () => ({ htu: `${at().href}#a` }), served),
  claiming('htu with an encoded letter is accepted', () => ({ htu: at().href.replace('/mcp', '/%6Dcp') }), served),
  claiming('htu with an upper case scheme is accepted', () => ({ htu: at().href.replace('http', 'HTTP') }), served),
  claiming('htu with dot segments is accepted', () => ({ htu: `${at().origin}/a/../mcp` }), served),
]

const groups: Record<string, Row[]> = {
  'the scheme': [
    ['a bound token as a bearer token', async () => bearing(await bound()), asBearer],
    [
      'a bound token as a bearer token, with a proof',
      async () => ({ ...(await holder.headers(at(), await bound())), ...bearing(await bound()) }),
      asBearer,
    ],
    ['a plain token with a proof', async () => holder.headers(at(), await issuer.token(at().href)), notBound],
    ['a plain token is accepted', async () => bearing(await issuer.token(at().href)), served],
    [
      'a plain token as a bearer token, with a proof, is accepted',
      async () => {
        const token = await issuer.token(at().href)
        return { ...(await holder.headers(at(), token)), ...bearing(token) }
      },
      served,
    ],
    [
      'an expired bound token with a proof',
      async () => holder.headers(at(), await bound({ exp: now() - 100 })),
      badToken('The token has expired'),
    ],
    [
      'a bound token of a stranger, who binds it to the key',
      async () => {
        const token = await issuer.token(at().href, holder.bound, { key: await newKey('ES256', issuer.keys[0]?.kid) })
        return holder.headers(at(), token)
      },
      badToken('The signature of the token is invalid'),
    ],
    [
      'both schemes in one header',
      async () => {
        const headers = await holder.headers(at(), await bound())
        return { ...headers, Authorization: `${headers.Authorization}, Bearer ${await issuer.token(at().href)}` }
      },
      (url) => {
        const message = 'The header Authorization must be "DPoP", a space and one token'
        return {
          status: 400,
          message,
          challenge: `DPoP ${described(url).replace(/, scope.*/, '')}, algs="${algs}", error="invalid_request", error_description="${quoted(message)}"`,
        }
      },
    ],
    [
      'a token of introspection with token_type DPoP and no key',
      async () => bearing(issuer.opaqueToken({ aud: at('/opaque/mcp').href, token_type: 'DPoP' })),
      downgraded('The claim cnf of the token must have jkt, the thumbprint of a key: RFC 9449, section 6'),
      '/opaque/mcp',
    ],
    [
      'a plain token where bound ones are required',
      async () => bearing(await issuer.token(at('/required/mcp').href)),
      badToken('This server accepts only tokens that are bound to a key (DPoP)'),
      '/required/mcp',
    ],
    [
      'an invalid bound token where anonymous callers are accepted',
      async () => bearing(await issuer.token(at('/open/mcp').href, holder.bound)),
      asBearer,
      '/open/mcp',
    ],
  ],
  'the header DPoP': [
    ['none', async () => ({ Authorization: `DPoP ${await bound()}` }), missing],
    showing('empty', () => '', notOne),
    showing('two proofs', async (proof) => `${proof}, ${await holder.proof(at(), { token: await bound() })}`, notOne),
    showing('the same proof twice', (proof) => `${proof}, ${proof}`, notOne),
    showing('a proof and a comma', (proof) => `${proof},`, notOne),
    showing('with a scheme', (proof) => `DPoP ${proof}`, notOne),
    showing('in quotes', (proof) => `"${proof}"`, notOne),
    showing('five parts', (proof) => `${proof}.a.b`, notOne),
    showing('without the signature', (proof) => proof.replace(/[^.]+$/, ''), notOne),
    showing('no JSON', () => 'a.b.c', malformed),
    showing('the token', async () => bound(), wrongType),
    showing(
      '8,193 characters',
      () => `${'a'.repeat(8_189)}.b.c`,
      badProof('The header DPoP is too long: a proof has at most 8192 characters'),
    ),
  ],
  'the header of the proof': [
    proving('no typ', () => ({ header: { typ: undefined } }), wrongType),
    proving('typ JWT', () => ({ header: { typ: 'JWT' } }), wrongType),
    proving('typ at+jwt', () => ({ header: { typ: 'at+jwt' } }), wrongType),
    proving('typ with application/', () => ({ header: { typ: 'application/dpop+jwt' } }), wrongType),
    proving('no jwk', () => ({ header: { jwk: undefined } }), noKey),
    proving('jwk that is a text', () => ({ header: { jwk: JSON.stringify(holder.jwk) } }), noKey),
    proving('jwk that is a list', () => ({ header: { jwk: [holder.jwk] } }), noKey),
    proving('jwk without a coordinate', () => ({ header: { jwk: { ...holder.jwk, y: undefined } } }), badKey),
    proving('the private key', () => ({ header: { jwk: holder.privateJwk } }), privateKey),
    proving('an empty private member', () => ({ header: { jwk: { ...holder.jwk, d: '' } } }), privateKey),
    proving('the key of the thief', () => ({ header: { jwk: thief.jwk }, signer: thief.privateKey }), otherKey),
    proving('the key of the token, signed by the thief', () => ({ signer: thief.privateKey }), wrongSignature),
    proving('a key for encryption', () => ({ header: { jwk: { ...holder.jwk, use: 'enc' } } }), malformed),
    proving('a key for another algorithm', () => ({ header: { jwk: { ...holder.jwk, alg: 'ES384' } } }), malformed),
    ['a critical extension', async () => handmade({ alg: 'ES256', crit: ['exp'], exp: 1 }, () => 'AA'), malformed],
    proving(
      'kid, jku and x5u, which are ignored',
      () => ({ header: { kid: 'a', jku: 'http://evil.example', x5u: 'http://evil.example' } }),
      served,
    ),
    ['alg none, without signature', async () => handmade({ alg: 'none' }, () => 'AA'), wrongAlgorithm],
    [
      'HS256 with the public key as secret',
      async () =>
        handmade({ alg: 'HS256' }, (input) =>
          createHmac('sha256', JSON.stringify(holder.jwk)).update(input).digest('base64url'),
        ),
      wrongAlgorithm,
    ],
    [
      'HS256 with a secret key in jwk, to which the token is bound',
      async () => {
        const jwk = { kty: 'oct', k: Buffer.from('secret').toString('base64url') }
        const token = await issuer.token(at().href, { cnf: { jkt: await calculateJwkThumbprint(jwk) } })
        const signer = new TextEncoder().encode('secret'.repeat(10))
        return holder.headers(at(), token, { header: { alg: 'HS256', jwk }, signer })
      },
      wrongAlgorithm,
    ],
    [
      'ES256 with a secret key in jwk, to which the token is bound',
      async () => {
        const jwk = { kty: 'oct', k: Buffer.from('secret').toString('base64url') }
        const token = await issuer.token(at().href, { cnf: { jkt: await calculateJwkThumbprint(jwk) } })
        return holder.headers(at(), token, { header: { jwk } })
      },
      privateKey,
    ],
    [
      'another algorithm than that of the key',
      async () => {
        const other = await Holder.create('ES384')
        const token = await issuer.token(at().href, other.bound)
        const headers = await other.headers(at(), token)
        const [, payload, signature] = headers.DPoP?.split('.') ?? []
        return {
          ...headers,
          DPoP: `${part({ alg: 'ES256', typ: 'dpop+jwt', jwk: other.jwk })}.${payload}.${signature}`,
        }
      },
      malformed,
    ],
    [
      'RSA with 1,024 bits',
      async () => {
        const { publicKey, privateKey: weak } = await crypto.subtle.generateKey(
          {
            name: 'RSASSA-PKCS1-v1_5',
            modulusLength: 1024,
            publicExponent: new Uint8Array([1, 0, 1]),
            hash: 'SHA-256',
          },
          true,
          ['sign', 'verify'],
        )
        const { kty, n, e } = await exportJWK(publicKey)
        const jwk = { kty, n, e }
        const token = await issuer.token(at().href, { cnf: { jkt: await calculateJwkThumbprint(jwk as never) } })
        const payload = {
          jti: randomUUID(),
          htm: 'POST',
          htu: at().href,
          iat: now(),
          ath: createHash('sha256').update(token).digest('base64url'),
        }
        const input = `${part({ alg: 'RS256', typ: 'dpop+jwt', jwk })}.${part(payload)}`
        const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', weak, Buffer.from(input))
        return { Authorization: `DPoP ${token}`, DPoP: `${input}.${Buffer.from(signature).toString('base64url')}` }
      },
      malformed,
    ],
    [
      'an algorithm outside of the option',
      async () => {
        const other = await Holder.create('ES384')
        const token = await issuer.token(at('/tuned/mcp').href, other.bound)
        return other.headers(at('/tuned/mcp'), token)
      },
      (url) => refused('invalid_dpop_proof', 'The header alg of the DPoP proof must be one of ES256', url, 'ES256'),
      '/tuned/mcp',
    ],
  ],
  'the claims of the proof': [
    ...urls(),
    claiming('htm of another method', () => ({ htm: 'GET' }), wrongMethod),
    claiming('htm in lower case', () => ({ htm: 'post' }), wrongMethod),
    claiming('no htm', () => ({ htm: undefined }), wrongMethod),
    claiming('no ath', () => ({ ath: undefined }), wrongHash),
    claiming('ath that is empty', () => ({ ath: '' }), wrongHash),
    proving('ath of another token', async () => ({ token: await bound({ sub: 'eve' }) }), wrongHash),
    claiming('ath with padding', () => ({ ath: `${'a'.repeat(43)}=` }), wrongHash),
    claiming('iat 6 minutes ago', () => ({ iat: now() - 360 }), wrongTime),
    claiming('iat in 6 minutes', () => ({ iat: now() + 360 }), wrongTime),
    claiming('iat in milliseconds', () => ({ iat: now() * 1000 }), wrongTime),
    claiming('iat 0', () => ({ iat: 0 }), wrongTime),
    claiming('no iat', () => ({ iat: undefined }), wrongTime),
    claiming('iat 4 minutes ago is accepted', () => ({ iat: now() - 240 }), served),
    claiming('iat in 4 minutes is accepted', () => ({ iat: now() + 240 }), served),
    claiming('iat that is a text', () => ({ iat: `${now()}` }), malformed),
    claiming(
      'exp in the past',
      () => ({ exp: now() - 100 }),
      badProof('The DPoP proof has expired: make one for each request'),
    ),
    claiming('nbf in the future', () => ({ nbf: now() + 100 }), malformed),
    claiming('no jti', () => ({ jti: undefined }), wrongId),
    claiming('jti that is empty', () => ({ jti: '' }), wrongId),
    claiming('jti that is a number', () => ({ jti: 1 }), wrongId),
    claiming('jti with 257 characters', () => ({ jti: 'a'.repeat(257) }), wrongId),
    claiming('jti with 5,000 characters', () => ({ jti: 'a'.repeat(5_000) }), wrongId),
    claiming('jti with 256 characters is accepted', () => ({ jti: `${randomUUID()}${'a'.repeat(220)}` }), served),
    [
      'iat outside of maxAge',
      async () => {
        const url = at('/tuned/mcp')
        return holder.headers(url, await issuer.token(url.href, holder.bound), { claims: { iat: now() - 60 } })
      },
      (url) =>
        refused(
          'invalid_dpop_proof',
          'The claim iat of the DPoP proof is too far from the time of the server: make a proof for each request',
          url,
          'ES256',
        ),
      '/tuned/mcp',
    ],
  ],
  'the token': [
    [
      'bound to a certificate',
      async () => holder.headers(at(), await issuer.token(at().href, { cnf: { 'x5t#S256': 'a'.repeat(43) } })),
      badToken('Tokens that are bound to a certificate (mutual TLS) are not supported'),
    ],
    [
      'bound to a certificate and to the key',
      async () =>
        holder.headers(at(), await issuer.token(at().href, { cnf: { jkt: holder.jkt, 'x5t#S256': 'a'.repeat(43) } })),
      badToken('Tokens that are bound to a certificate (mutual TLS) are not supported'),
    ],
    ...[{}, null, [], 'text', { jkt: '' }, { jkt: [1] }, { jkt: 'a'.repeat(44) }, { kid: 'a' }].map(
      (cnf): Row => [
        `with cnf ${JSON.stringify(cnf)}`,
        async () => holder.headers(at(), await issuer.token(at().href, { cnf })),
        badToken('The claim cnf of the token must have jkt, the thumbprint of a key: RFC 9449, section 6'),
      ],
    ),
    [
      'bound to the thief, with the proof of the holder',
      async () => holder.headers(at(), await issuer.token(at().href, thief.bound)),
      otherKey,
    ],
  ],
}

for (const [group, rows] of Object.entries(groups)) {
  describe(group, () => {
    test.each(rows.map(([name, headers, outcome, path]) => ({ name, headers, outcome, path })))(
      '$name',
      async ({ headers, outcome, path }) => {
        expect(await send(at(path), await headers())).toEqual(outcome(at(path)))
      },
    )
  })
}

describe('replay', () => {
  /** Sends the same headers twice. */
  const twice = async (first: URL, second: URL, headers: Record<string, string>) => {
    expect(await send(first, headers)).toEqual(served())
    return send(second, headers)
  }

  test('at once', async () => {
    expect(await twice(at(), at(), await holder.headers(at(), await bound()))).toEqual(used(at()))
  })

  test('with a query behind the URL', async () => {
    expect(await twice(at(), at('/mcp?a=1'), await holder.headers(at(), await bound()))).toMatchObject({
      status: 401,
      message: 'The DPoP proof was used before: make a proof for each request',
    })
  })

  test('of the same jti in another proof', async () => {
    const token = await bound()
    const claims = { jti: randomUUID(), iat: now() }
    expect(await send(at(), await holder.headers(at(), token, { claims }))).toEqual(served())
    expect(await send(at(), await holder.headers(at(), token, { claims }))).toEqual(used(at()))
  })

  test('with another spelling of the signature', async () => {
    const headers = await holder.headers(at(), await bound())
    expect(await send(at(), headers)).toEqual(served())
    const last = headers.DPoP?.at(-1) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const next = alphabet[alphabet.indexOf(last) + 1] ?? ''
    const { status } = await send(at(), { ...headers, DPoP: `${headers.DPoP?.slice(0, -1)}${next}` })
    expect(status).toBe(401)
  })

  test('another key may use the same jti', async () => {
    const claims = { jti: randomUUID() }
    expect(await send(at(), await holder.headers(at(), await bound(), { claims }))).toEqual(served())
    const token = await issuer.token(at().href, thief.bound)
    expect(await send(at(), await thief.headers(at(), token, { claims }))).toEqual(served())
  })

  test('a refused proof does not use up its jti', async () => {
    const token = await bound()
    const claims = { jti: randomUUID() }
    const refusedFirst = await holder.headers(at(), token, { claims: { ...claims, htm: 'GET' } })
    expect(await send(at(), refusedFirst)).toMatchObject({ status: 401 })
    expect(await send(at(), await holder.headers(at(), token, { claims }))).toEqual(served())
  })
})

describe('nonces', () => {
  const url = () => at('/nonce/mcp')
  const asked = () => refused('use_dpop_nonce', 'The DPoP proof needs the nonce of the header DPoP-Nonce', url())
  const sendWith = async (nonce: unknown) => {
    const token = await issuer.token(url().href, holder.bound)
    const claims = nonce === undefined ? {} : { nonce }
    const { status, headers, text } = await call(url(), await holder.headers(url(), token, { claims }))
    const challenge = headers.get('WWW-Authenticate') ?? undefined
    return { seen: { status, message: text, challenge }, fresh: headers.get('DPoP-Nonce') ?? '' }
  }

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['a number', 1],
    ['null', null],
    ['a list', ['a']],
    ['invented', 'a'.repeat(39)],
    ['huge', 'a'.repeat(5_000)],
    ['a sealed text of another form', 'key.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
  ])('%s', async (_, nonce) => {
    const { seen, fresh } = await sendWith(nonce)
    expect(seen).toEqual(asked())
    expect(fresh).toMatch(/^[\w-]{39}$/)
    expect((await sendWith(fresh)).seen.status).toBe(200)
  })

  test('changed', async () => {
    const { fresh } = await sendWith(undefined)
    for (const at of [0, 16, 25, 30]) {
      const changed = `${fresh.slice(0, at)}${fresh[at] === 'A' ? 'B' : 'A'}${fresh.slice(at + 1)}`
      expect((await sendWith(changed)).seen).toEqual(asked())
    }
  })

  test('a session id and a nonce of another endpoint are no nonces', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }
    const response = await fetch(at(), {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(await holder.headers(at(), await bound())),
      },
      body: JSON.stringify(initialize),
    })
    await response.text()
    expect((await sendWith(response.headers.get('Mcp-Session-Id'))).seen).toEqual(asked())
  })

  test('an invalid proof with a valid nonce is refused as such', async () => {
    const { fresh } = await sendWith(undefined)
    const token = await issuer.token(url().href, holder.bound)
    const headers = await holder.headers(url(), token, { claims: { nonce: fresh }, signer: thief.privateKey })
    expect(await send(url(), headers)).toEqual(
      refused('invalid_dpop_proof', 'The signature of the DPoP proof is invalid', url()),
    )
  })

  test('a proof with a valid nonce is accepted once', async () => {
    const { fresh } = await sendWith(undefined)
    const token = await issuer.token(url().href, holder.bound)
    const headers = await holder.headers(url(), token, { claims: { nonce: fresh } })
    expect(await send(url(), headers)).toEqual(served())
    expect(await send(url(), headers)).toEqual(
      refused('invalid_dpop_proof', 'The DPoP proof was used before: make a proof for each request', url()),
    )
  })
})

describe('a server that has a name', () => {
  const url = () => at('/named/mcp')
  const named = 'https://mcp.example.com/app'
  const sendTo = async (htu: string) => {
    const token = await issuer.token(named, holder.bound)
    return (await call(url(), await holder.headers(url(), token, { claims: { htu } }))).status
  }

  test.each([
    [named, 200],
    ['https://mcp.example.com:443/app?a=1', 200],
    ['https://mcp.example.com/named/mcp', 200],
    ['https://mcp.example.com/', 401],
    ['http://mcp.example.com/app', 401],
    ['https://evil.example/named/mcp', 401],
  ])('htu %s: %i', async (htu, status) => {
    expect(await sendTo(htu)).toBe(status)
  })

  test('htu of the host that was requested: 401', async () => {
    expect(await sendTo(url().href)).toBe(401)
  })
})
