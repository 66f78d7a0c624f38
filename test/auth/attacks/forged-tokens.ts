/** Tokens that nobody entitled has signed. */
import { constants } from 'node:crypto'
import { by, claims, compact, der, encoded, hmac, pem } from './forge.ts'
import { type Attack, invalid, type Stage, unknownKey } from './stage.ts'

const notAccepted = invalid('The signature algorithm of the token is not accepted')

const wrongSignature = invalid('The signature of the token is invalid')

const broken = invalid('The token is malformed')

const worthless = invalid('The token is not valid for this resource')

type Name = keyof Stage['keys']

/** HMAC with what everybody knows of a public key. */
const publicSecrets: Record<string, (stage: Stage, name: Name) => string | Buffer> = {
  'its PEM': ({ keys }, name) => pem(keys[name]),
  'its PEM without the last line break': ({ keys }, name) => pem(keys[name]).trim(),
  'its DER': ({ keys }, name) => der(keys[name]),
  'its JWK': ({ keys }, name) => JSON.stringify(keys[name].publicJwk),
  'its raw bytes': ({ keys }, name) => {
    const { n, x } = keys[name].publicJwk
    return Buffer.from((n ?? x) as string, 'base64url')
  },
}

const confusions = (['RS256', 'ES256', 'EdDSA'] as const).flatMap((name) =>
  Object.entries(publicSecrets).map(
    ([what, secret]): Attack => ({
      name: `HS256 with a public ${name} key as the secret: ${what}`,
      by: (stage) => {
        const header = { alg: 'HS256', kid: stage.keys[name].kid, typ: 'at+jwt' }
        return stage.call(compact(header, claims(stage), hmac(secret(stage, name))))
      },
      outcome: notAccepted,
    }),
  ),
)

const secretAlgorithms = (
  [
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ] as const
).map(
  ([alg, hash]): Attack => ({
    name: `${alg} with a public RS256 key as the secret`,
    by: (stage) => {
      const header = { alg, kid: stage.keys.RS256.kid, typ: 'at+jwt' }
      return stage.call(compact(header, claims(stage), hmac(pem(stage.keys.RS256), hash)))
    },
    outcome: notAccepted,
  }),
)

const unsigned: Attack[] = [
  ...['none', 'None', 'NONE', 'nOnE', 'none ', 'none\u0000', 'ＮＯＮＥ'].map(
    (alg): Attack => ({
      name: `no signature: alg ${JSON.stringify(alg)}`,
      by: (stage) => stage.call(compact({ alg, typ: 'at+jwt' }, claims(stage))),
      outcome: notAccepted,
    }),
  ),
  {
    name: 'no signature, but the kid of a real key: alg "none"',
    by: (stage) => stage.call(compact({ alg: 'none', kid: stage.keys.ES256.kid }, claims(stage))),
    outcome: notAccepted,
  },
  {
    name: 'alg "none" with a real signature behind it',
    by: (stage) => stage.call(compact({ alg: 'none' }, claims(stage), by(stage.keys.ES256))),
    outcome: notAccepted,
  },
  ...[undefined, null, '', 0, ['ES256'], { toString: 'ES256' }].map(
    (alg): Attack => ({
      name: `alg is ${alg === undefined ? 'left out' : JSON.stringify(alg)}`,
      by: (stage) => stage.call(compact({ alg, kid: stage.keys.ES256.kid }, claims(stage), by(stage.keys.ES256))),
      outcome: broken,
    }),
  ),
  ...['constructor', '__proto__', 'toString', 'es256', 'RSA-OAEP', 'ES256K', 'RS1', 'HS1'].map(
    (alg): Attack => ({
      name: `alg is not accepted: ${alg}`,
      by: (stage) => stage.call(compact({ alg, kid: stage.keys.ES256.kid }, claims(stage), by(stage.keys.ES256))),
      outcome: notAccepted,
    }),
  ),
  {
    name: 'an unsecured JWT without its signature',
    by: async (stage) => stage.call((await stage.token()).replace(/[^.]*$/, '')),
    outcome: wrongSignature,
  },
  {
    name: 'no signature and no dot before it',
    by: async (stage) => stage.call((await stage.token()).replace(/\.[^.]*$/, '')),
    outcome: worthless,
  },
  {
    name: 'two alg members in the header: the last one counts, and it is not none',
    by: (stage) => {
      const header = `{"alg":"none","alg":"ES256","kid":"${stage.keys.ES256.kid}"}`
      return stage.call(compact(header, claims(stage)))
    },
    outcome: wrongSignature,
  },
  {
    name: 'two alg members in the header: the last one is none',
    by: (stage) => {
      const header = `{"alg":"ES256","kid":"${stage.keys.ES256.kid}","alg":"none"}`
      return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
    },
    outcome: notAccepted,
  },
]

const mixups: Attack[] = [
  {
    name: 'PS256 with a key that is for RS256',
    by: (stage) => {
      const padding = constants.RSA_PKCS1_PSS_PADDING
      const header = { alg: 'PS256', kid: stage.keys.RS256.kid, typ: 'at+jwt' }
      return stage.call(compact(header, claims(stage), by(stage.keys.RS256, { padding })))
    },
    outcome: unknownKey,
  },
  {
    name: 'RS256 with a key that is for PS256',
    by: (stage) => {
      const header = { alg: 'RS256', kid: stage.keys.PS256.kid, typ: 'at+jwt' }
      return stage.call(compact(header, claims(stage), by(stage.keys.RS256)))
    },
    outcome: unknownKey,
  },
  ...(['RS384', 'RS512', 'PS384', 'ES384', 'ES512'] as const).map(
    (alg): Attack => ({
      name: `${alg} with a key that is for another algorithm`,
      by: (stage) => {
        const key = alg.startsWith('ES') ? stage.keys.ES256 : stage.keys.RS256
        return stage.call(compact({ alg, kid: key.kid, typ: 'at+jwt' }, claims(stage), by(key)))
      },
      outcome: unknownKey,
    }),
  ),
  {
    name: 'ES256 with the kid of an RS256 key',
    by: (stage) => {
      const header = { alg: 'ES256', kid: stage.keys.RS256.kid, typ: 'at+jwt' }
      return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
    },
    outcome: unknownKey,
  },
  {
    name: 'the key of one token, the header of another',
    by: async (stage) => {
      const [, , signature] = (await stage.token({}, { key: stage.keys.RS256 })).split('.')
      const [header, payload] = (await stage.token()).split('.')
      return stage.call(`${header}.${payload}.${signature}`)
    },
    outcome: wrongSignature,
  },
  {
    name: "the claims of one token, the signature of another: bob's scopes under ada's signature",
    by: async (stage) => {
      const [header, , signature] = (await stage.token()).split('.')
      return stage.call(`${header}.${encoded(claims(stage, { scope: 'admin' }))}.${signature}`, 'write')
    },
    outcome: wrongSignature,
  },
  {
    name: 'signed by an unknown key with the kid of a real one',
    by: async (stage) => {
      const { kid } = stage.keys.ES256
      const [key] = stage.stranger.keys
      if (!key) throw new Error('There is no key')
      return stage.call(await stage.token({}, { key, header: { kid } }))
    },
    outcome: wrongSignature,
  },
  {
    name: 'signed by the other accepted issuer with its own key, in the name of the first',
    by: async (stage) => stage.call(await stage.token({}, { key: stage.other.keys[0] as never })),
    outcome: unknownKey,
  },
]

/** The names of files, tables and addresses that a careless server would look a key up by. */
const kids: Record<string, unknown> = {
  'a path to a file of zeros': '../../../../../../dev/null',
  'an absolute path': '/etc/passwd',
  'an encoded path': '..%2f..%2fproc%2fself%2fenviron',
  'an SQL injection': "x' UNION SELECT 'c2VjcmV0' -- ",
  'a shell injection': '|cat /etc/passwd;',
  'a URL of its own': 'http://127.0.0.1:1/jwks',
  'a data URL': 'data:application/json,{"keys":[]}',
  'a null byte': 'key\u0000',
  'six thousand characters': 'k'.repeat(6_000),
  'an empty text': '',
  __proto__: '__proto__',
  constructor: 'constructor',
  'an LDAP filter': '*)(uid=*',
  'a template': '{{7*7}}<%= 7*7 %>',
  'a line break': 'a\r\nSet-Cookie: a=b',
}

const injections: Attack[] = [
  ...Object.entries(kids).map(
    ([what, kid]): Attack => ({
      name: `kid is ${what}, which is only compared`,
      by: (stage) => stage.call(compact({ alg: 'ES256', kid, typ: 'at+jwt' }, claims(stage), by(stage.keys.ES256))),
      outcome: unknownKey,
    }),
  ),
  ...[[], ['a'], {}, 0, true, null].map(
    (kid): Attack => ({
      name: `kid is not a string: ${JSON.stringify(kid)}`,
      by: (stage) => stage.call(compact({ alg: 'ES256', kid, typ: 'at+jwt' }, claims(stage), by(stage.keys.ES256))),
      outcome: unknownKey,
    }),
  ),
  ...(['jku', 'x5u'] as const).map(
    (member): Attack => ({
      name: `${member} points at the attacker's keys, which the server does not fetch`,
      by: async (stage) => {
        const [key] = stage.stranger.keys
        if (!key) throw new Error('There is no key')
        const header = { alg: 'ES256', kid: key.kid, typ: 'at+jwt', [member]: `${stage.stranger.issuer}/jwks` }
        const seen = await stage.call(compact(header, claims(stage), by(key)))
        return { seen, fetched: [...stage.stranger.asked.keys()] }
      },
      outcome: { seen: unknownKey, fetched: [] },
    }),
  ),
  {
    name: 'jku points at the attacker, kid at a real key',
    by: async (stage) => {
      const [key] = stage.stranger.keys
      if (!key) throw new Error('There is no key')
      const header = { alg: 'ES256', kid: stage.keys.ES256.kid, jku: `${stage.stranger.issuer}/jwks` }
      const seen = await stage.call(compact(header, claims(stage), by(key)))
      return { ...seen, fetched: [...stage.stranger.asked.keys()] }
    },
    outcome: { ...wrongSignature, fetched: [] },
  },
  {
    name: 'jwk has the key that signed the token',
    by: (stage) => {
      const [key] = stage.stranger.keys
      if (!key) throw new Error('There is no key')
      const header = { alg: 'ES256', kid: key.kid, typ: 'at+jwt', jwk: key.publicJwk }
      return stage.call(compact(header, claims(stage), by(key)))
    },
    outcome: unknownKey,
  },
  {
    name: 'jwk has the key that signed the token, with the kid of a real one',
    by: (stage) => {
      const [key] = stage.stranger.keys
      if (!key) throw new Error('There is no key')
      const { kid } = stage.keys.ES256
      const header = { alg: 'ES256', kid, typ: 'at+jwt', jwk: { ...key.publicJwk, kid } }
      return stage.call(compact(header, claims(stage), by(key)))
    },
    outcome: wrongSignature,
  },
  {
    name: 'x5c has a certificate',
    by: (stage) => {
      const [key] = stage.stranger.keys
      if (!key) throw new Error('There is no key')
      const header = { alg: 'ES256', kid: stage.keys.ES256.kid, x5c: [der(key).toString('base64')], x5t: 'AAAA' }
      return stage.call(compact(header, claims(stage), by(key)))
    },
    outcome: wrongSignature,
  },
  ...([['exp'], ['b64'], [], 'exp', ['nobody-knows'], [1]] as unknown[]).map(
    (crit): Attack => ({
      name: `crit is ${JSON.stringify(crit)}, which the server does not support`,
      by: (stage) => {
        const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'at+jwt', crit, exp: 1, 'nobody-knows': 1 }
        return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
      },
      outcome: broken,
    }),
  ),
  {
    name: 'b64 is false and critical: the claims are signed as they are',
    by: (stage) => {
      const { kid } = stage.keys.ES256
      const header = encoded({ alg: 'ES256', kid, typ: 'at+jwt', b64: false, crit: ['b64'] })
      const payload = encoded(claims(stage))
      return stage.call(`${header}.${payload}.${by(stage.keys.ES256)(`${header}.${payload}`).toString('base64url')}`)
    },
    outcome: broken,
  },
  {
    name: 'b64 is false and not critical: the signature is over other bytes',
    by: (stage) => {
      const header = encoded({ alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'at+jwt', b64: false })
      const payload = JSON.stringify(claims(stage))
      const signature = by(stage.keys.ES256)(`${header}.${payload}`).toString('base64url')
      return stage.call(`${header}.${encoded(payload)}.${signature}`)
    },
    outcome: wrongSignature,
  },
  {
    name: 'zip declares compressed claims',
    by: (stage) => {
      const header = { alg: 'ES256', kid: stage.keys.ES256.kid, zip: 'DEF', crit: ['zip'] }
      return stage.call(compact(header, claims(stage), by(stage.keys.ES256)))
    },
    outcome: broken,
  },
]

export const forgedTokens: Readonly<Record<string, readonly Attack[]>> = {
  'algorithm confusion': [...confusions, ...secretAlgorithms, ...mixups],
  'unsigned tokens': unsigned,
  'header injection': injections,
}
