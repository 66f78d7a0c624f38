/** Authorization servers that publish what they should not, and floods that would have this server ask them. */
import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json, type Key, newKey } from '../authorization-server.ts'
import { by, claims, compact, hmac } from './forge.ts'
import { type Attack, invalid, type Seen, type Stage, unavailable, unique } from './stage.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

const unknownKey = invalid('The issuer of the token does not publish the key that signed it')
const wrongSignature = invalid('The signature of the token is invalid')
const broken = invalid('The token is malformed')
const good = { status: 200, result: 'read' }

/** An issuer of its own for one attack, so that nothing is known of it. */
type Poisoned = {
  name: string
  tenant: string
  outcome: unknown
  /** What its metadata says otherwise. */
  metadata?: (stage: Stage, issuer: string) => object
  /** Or what is answered instead. */
  instead?: (stage: Stage) => Answer
  keys?: (stage: Stage) => unknown | Promise<unknown>
  keysInstead?: (stage: Stage) => Answer
  token?: (stage: Stage, issuer: string) => string | Promise<string>
  asked?: Record<string, number>
}

const metadataAt = (tenant: string) => `/.well-known/oauth-authorization-server/${tenant}`

const poisoned = ({ name, tenant, outcome, metadata, instead, keys, keysInstead, token, asked }: Poisoned): Attack => ({
  name,
  by: async (stage) => {
    const issuer = `${stage.issuer.issuer}/${tenant}`
    const published = keys ? await keys(stage) : [stage.keys.ES256.publicJwk]
    const document = { issuer, jwks_uri: `${issuer}/jwks`, ...metadata?.(stage, issuer) }
    stage.issuer.instead.set(metadataAt(tenant), instead?.(stage) ?? ((_, response) => json(response, document)))
    stage.issuer.instead.set(
      `/${tenant}/jwks`,
      keysInstead?.(stage) ?? ((_, response) => json(response, { keys: published })),
    )
    const { kid } = stage.keys.ES256
    const signed = () =>
      compact({ alg: 'ES256', kid, typ: 'at+jwt' }, claims(stage, { iss: issuer }), by(stage.keys.ES256))
    const seen = await stage.call(token ? await token(stage, issuer) : signed())
    return { ...seen, fetched: [...stage.stranger.asked.keys()] }
  },
  outcome: { ...(outcome as Seen), fetched: [] },
  ran: outcome === good ? ['read'] : [],
  asked: asked ?? { [metadataAt(tenant)]: 1, [`/${tenant}/jwks`]: 1 },
})

/** Nothing of its metadata led to keys. */
const onlyMetadata = (tenant: string) => ({ [metadataAt(tenant)]: 1, [`/${tenant}/jwks`]: 0 })

const signedWith =
  (key: Key, header: object = {}) =>
  (stage: Stage, iss: string) =>
    compact({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header }, claims(stage, { iss }), by(key))

const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
const secret = Buffer.alloc(32, 7)

const documents: Poisoned[] = [
  {
    name: 'a shared secret among the keys, and a token of HS256',
    tenant: 'oct',
    keys: () => [{ kty: 'oct', k: secret.toString('base64url'), kid: 'oct', alg: 'HS256' }],
    token: (stage, iss) => compact({ alg: 'HS256', kid: 'oct' }, claims(stage, { iss }), hmac(secret)),
    outcome: invalid('The signature algorithm of the token is not accepted'),
    asked: { [metadataAt('oct')]: 0 },
  },
  {
    name: 'a shared secret under the name of the key',
    tenant: 'oct-named',
    keys: ({ keys }) => [{ kty: 'oct', k: secret.toString('base64url'), kid: keys.ES256.kid, alg: 'ES256' }],
    outcome: unknownKey,
  },
  {
    name: 'a private key among the keys, which is public',
    tenant: 'private',
    keys: async ({ keys }) => [{ ...keys.ES256.publicJwk, d: 'A'.repeat(43) }],
    outcome: unknownKey,
  },
  {
    name: 'a key for encryption',
    tenant: 'enc',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, use: 'enc' }],
    outcome: unknownKey,
  },
  {
    name: 'a key without operations',
    tenant: 'use',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, use: '' }],
    outcome: unknownKey,
  },
  {
    name: 'a key whose use is a list',
    tenant: 'use-list',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, use: ['enc'] } as object],
    outcome: unknownKey,
  },
  {
    name: 'a key whose algorithm is a number',
    tenant: 'alg-number',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, alg: 5 } as object],
    outcome: unknownKey,
  },
  {
    name: 'a key whose operations are a text',
    tenant: 'ops-text',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, use: undefined, key_ops: 'verify' } as object],
    outcome: unknownKey,
  },
  {
    name: 'a key whose operations do not include verifying',
    tenant: 'ops',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, use: undefined, key_ops: ['encrypt', 'wrapKey'] }],
    outcome: unknownKey,
  },
  {
    name: 'a key that is for another algorithm than it can do',
    tenant: 'alg',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, alg: 'RS256' }],
    outcome: unknownKey,
  },
  {
    name: 'an RSA key of 1,024 bits',
    tenant: 'weak',
    keys: () => [{ ...weak.publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256', use: 'sig' }],
    token: (stage, iss) => {
      const key = { kid: 'weak', alg: 'RS256', privateKey: weak.privateKey } as unknown as Key
      return signedWith(key)(stage, iss)
    },
    outcome: broken,
  },
  {
    name: 'a point that is not on the curve',
    tenant: 'curve',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, x: 'A'.repeat(43), y: 'A'.repeat(43) }],
    outcome: broken,
  },
  {
    name: 'a point that is too long',
    tenant: 'long-point',
    keys: ({ keys }) => [{ ...keys.ES256.publicJwk, x: 'A'.repeat(20_000) }],
    outcome: broken,
  },
  {
    name: 'five thousand keys, the right one last: the server reads a hundred',
    tenant: 'thousands',
    keys: ({ keys }) => [
      ...Array.from({ length: 999 }, (_, at) => ({ kty: 'EC', kid: `${at}` })),
      keys.ES256.publicJwk,
    ],
    outcome: unknownKey,
  },
  {
    name: 'ninety keys without a kid, and a token without a kid: each is tried once',
    tenant: 'nameless',
    keys: async () => {
      const { kid: _, ...jwk } = (await newKey('ES256')).publicJwk
      return Array.from({ length: 90 }, () => jwk)
    },
    token: (stage, iss) => compact({ alg: 'ES256' }, claims(stage, { iss }), by(stage.keys.ES256)),
    outcome: wrongSignature,
    // Once more, because the issuer may have rotated its keys.
    asked: { [metadataAt('nameless')]: 2, '/nameless/jwks': 2 },
  },
  {
    name: 'two keys with one kid: the one that matches counts',
    tenant: 'twins',
    keys: async ({ keys }) => [{ ...(await newKey('ES256')).publicJwk, kid: keys.ES256.kid }, keys.ES256.publicJwk],
    outcome: good,
  },
  {
    name: 'invalid values among the keys: the right key still counts',
    tenant: 'nonsense',
    keys: ({ keys }) => [null, 7, 'key', {}, { kty: 'XX' }, { kty: ['EC'] }, keys.ES256.publicJwk],
    outcome: good,
  },
  {
    name: 'a list among the keys: the right key still counts',
    tenant: 'list',
    keys: ({ keys }) => [[], keys.ES256.publicJwk],
    outcome: good,
  },
  { name: 'the keys are an object', tenant: 'object', keys: () => ({ 0: {} }), outcome: unavailable },
  { name: 'no keys', tenant: 'none', keys: () => [], outcome: unknownKey },
  {
    name: 'a document of half a megabyte',
    tenant: 'giant',
    keysInstead: () => (_, response) => json(response, { keys: [], filler: 'a'.repeat(512 * 1024) }),
    outcome: unavailable,
  },
  {
    name: 'metadata of half a megabyte',
    tenant: 'giant-metadata',
    metadata: () => ({ filler: 'a'.repeat(512 * 1024) }),
    outcome: unavailable,
    asked: onlyMetadata('giant-metadata'),
  },
  {
    name: 'a page of HTML where the keys should be',
    tenant: 'html',
    keysInstead: () => (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html></html>'),
    outcome: unavailable,
  },
  {
    name: 'keys nested a hundred thousand deep',
    tenant: 'deep',
    keysInstead: () => (_, response) => response.writeHead(200).end('['.repeat(100_000)),
    outcome: unavailable,
  },
  {
    name: 'a redirect of the metadata is not followed',
    tenant: 'redirect',
    instead:
      ({ stranger }) =>
      (_, response) =>
        response.writeHead(302, { Location: `${stranger.issuer}/.well-known/oauth-authorization-server` }).end(),
    outcome: unavailable,
    asked: onlyMetadata('redirect'),
  },
  {
    name: 'a redirect of the keys is not followed',
    tenant: 'redirected-keys',
    keysInstead:
      ({ stranger }) =>
      (_, response) =>
        response.writeHead(307, { Location: `${stranger.issuer}/jwks` }).end(),
    outcome: unavailable,
  },
  ...(
    [
      ['plain http of another host', 'http://keys.example.com/jwks'],
      ['a host that looks like this machine', 'http://localhost.example.com/jwks'],
      ['this machine as the user of another', 'http://127.0.0.1@keys.example.com/jwks'],
      ['the address of the cloud', 'http://169.254.169.254/latest/meta-data'],
      ['a file', 'file:///etc/passwd'],
      ['its own text', 'data:application/json,{"keys":[]}'],
      ['a path without a host', '/jwks'],
      ['nothing', ''],
      ['a number', 7],
      ['a list', ['https://keys.example.com']],
    ] as const
  ).map(
    ([what, jwks_uri], at): Poisoned => ({
      name: `its keys are at ${what}`,
      tenant: `uri-${at}`,
      metadata: () => ({ jwks_uri }),
      outcome: unavailable,
      asked: onlyMetadata(`uri-${at}`),
    }),
  ),
  ...(
    [
      ['another issuer', ({ other }: Stage) => other.issuer],
      ['the issuer beside it', ({ issuer }: Stage) => issuer.issuer],
      ['itself with a slash', ({ issuer }: Stage) => `${issuer.issuer}/of-2/`],
      ['nobody', () => undefined],
    ] as const
  ).map(
    ([what, issuer], at): Poisoned => ({
      name: `its metadata is of ${what}`,
      tenant: `of-${at}`,
      metadata: (stage) => ({ issuer: issuer(stage) }),
      outcome: unavailable,
      asked: onlyMetadata(`of-${at}`),
    }),
  ),
]

const signedAs = (stage: Stage, tenant: string, header: object = {}) => {
  const { kid } = stage.keys.ES256
  const payload = claims(stage, { iss: `${stage.issuer.issuer}/${tenant}`, jti: unique() })
  return compact({ alg: 'ES256', kid, typ: 'at+jwt', ...header }, payload, by(stage.keys.ES256))
}

const honest = (stage: Stage, tenant: string) => {
  const issuer = `${stage.issuer.issuer}/${tenant}`
  stage.issuer.instead.set(metadataAt(tenant), (_, response) => json(response, { issuer, jwks_uri: `${issuer}/jwks` }))
  stage.issuer.instead.set(`/${tenant}/jwks`, (_, response) => json(response, { keys: [stage.keys.ES256.publicJwk] }))
}

/** The different things that came of many attempts. */
const together = async (attempts: Promise<Seen>[]) =>
  [...new Set((await Promise.all(attempts)).map((seen) => JSON.stringify(seen)))].map((seen) => JSON.parse(seen))

const floods: Attack[] = [
  {
    name: 'requests to an authorization server do not have the token',
    by: async (stage) => {
      honest(stage, 'overheard')
      const carried: unknown[] = []
      const paths = [metadataAt('overheard'), '/overheard/jwks']
      for (const path of paths) {
        const answer = stage.issuer.instead.get(path)
        stage.issuer.instead.set(path, (request, response) => {
          carried.push(request.method, request.headers.authorization, request.headers.cookie)
          return answer?.(request, response)
        })
      }
      const { status } = await stage.call(signedAs(stage, 'overheard'))
      return { status, carried }
    },
    outcome: { status: 200, carried: ['GET', undefined, undefined, 'GET', undefined, undefined] },
    ran: ['read'],
  },
  {
    name: 'a hundred tokens with a hundred unknown kids, one by one: the keys are fetched for the first ones',
    by: async (stage) => {
      honest(stage, 'flood')
      const statuses: number[] = []
      for (let at = 0; at < 100; at++)
        statuses.push((await stage.call(signedAs(stage, 'flood', { kid: unique() }))).status)
      return statuses
    },
    outcome: Array.from({ length: 100 }, (_, at) => (at < 6 ? 401 : 503)),
    asked: { [metadataAt('flood')]: 6, '/flood/jwks': 6 },
  },
  {
    name: 'fifty concurrent tokens with unknown kids, of an issuer without fetched keys: one fetch',
    by: (stage) => {
      honest(stage, 'burst')
      return together(Array.from({ length: 50 }, () => stage.call(signedAs(stage, 'burst', { kid: unique() }))))
    },
    outcome: [unknownKey],
    asked: { [metadataAt('burst')]: 1, '/burst/jwks': 1 },
  },
  {
    name: 'fifty tokens with wrong signatures: the keys are fetched once',
    by: (stage) => {
      honest(stage, 'forged')
      return together(
        Array.from({ length: 50 }, () => stage.call(signedAs(stage, 'forged').replace(/.{86}$/, 'A'.repeat(86)))),
      )
    },
    outcome: [wrongSignature],
    asked: { [metadataAt('forged')]: 1, '/forged/jwks': 1 },
  },
  {
    name: 'fifty tokens of an unavailable issuer: one request, and none for a while',
    by: (stage) => {
      stage.issuer.instead.set(metadataAt('down'), (_, response) => response.writeHead(500).end())
      return together(Array.from({ length: 50 }, () => stage.call(signedAs(stage, 'down'))))
    },
    outcome: [unavailable],
    asked: {
      [metadataAt('down')]: 1,
      '/down/.well-known/openid-configuration': 1,
      '/.well-known/openid-configuration/down': 1,
    },
  },
  {
    name: 'fifty tokens of fifty untrusted issuers: no request to them',
    by: async (stage) => {
      const seen = await together(
        Array.from({ length: 50 }, (_, at) =>
          stage.call(
            compact({ alg: 'ES256' }, claims(stage, { iss: `${stage.stranger.issuer}/${at}` }), by(stage.keys.ES256)),
          ),
        ),
      )
      return { seen, fetched: [...stage.stranger.asked.keys()] }
    },
    outcome: { seen: [invalid('This server does not trust the issuer of the token: iss is …')], fetched: [] },
  },
  {
    name: 'fifty requests without a token, and fifty with an invalid one: no request to an issuer',
    by: (stage) => {
      honest(stage, 'unasked')
      return together(Array.from({ length: 50 }, () => stage.call(unique())))
    },
    outcome: [invalid('The token is not valid for this resource')],
    asked: { '/.well-known/oauth-authorization-server': 0, '/jwks': 0, [metadataAt('unasked')]: 0 },
  },
]

/** Names of the issuers that the attacks need. */
export const tenants = [
  ...documents.map(({ tenant }) => tenant),
  'flood',
  'burst',
  'forged',
  'down',
  'unasked',
  'overheard',
]

export const issuers: Readonly<Record<string, readonly Attack[]>> = {
  'poisoned metadata and keys': documents.map(poisoned),
  floods,
}
