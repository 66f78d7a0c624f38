/** Signatures that were worked on, and what is no signed token. */
import { by, claims, compact, encoded } from './forge.ts'
import { type Attack, invalid, malformed, type Stage } from './stage.ts'

const wrongSignature = invalid('The signature of the token is invalid')

const broken = invalid('The token is malformed')

const worthless = invalid('The token is not valid for this resource')

const notSent = malformed('The header Authorization must be "Bearer", a space and one token')

/** The order of the curve P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const number = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`)

const bytes = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

/** A token whose signature was worked on. */
const withSignature = (change: (signature: Buffer) => Buffer | string) => async (stage: Stage) => {
  const [header, payload, signature = ''] = (await stage.token({ jti: crypto.randomUUID() })).split('.')
  const changed = change(Buffer.from(signature, 'base64url'))
  return stage.call(`${header}.${payload}.${typeof changed === 'string' ? changed : changed.toString('base64url')}`)
}

/** The same six bits less four that mean nothing, written differently. */
const respelled = (text: string) => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) as string) ^ 1]
}

const signatures: Attack[] = [
  { name: 'r and s are zero', by: withSignature(() => Buffer.alloc(64)), outcome: wrongSignature },
  {
    name: 'r is zero',
    by: withSignature((signature) => Buffer.concat([Buffer.alloc(32), signature.subarray(32)])),
    outcome: wrongSignature,
  },
  {
    name: 'r and s are the order of the curve',
    by: withSignature(() => Buffer.concat([bytes(order), bytes(order)])),
    outcome: wrongSignature,
  },
  {
    name: 'r and s are one',
    by: withSignature(() => Buffer.concat([bytes(1n), bytes(1n)])),
    outcome: wrongSignature,
  },
  {
    name: 'r and s change places',
    by: withSignature((signature) => Buffer.concat([signature.subarray(32), signature.subarray(0, 32)])),
    outcome: wrongSignature,
  },
  {
    // As good a signature of the same claims as the first: nothing here is kept under the text of a token.
    name: 's is the order minus s: another valid signature of the same claims',
    by: withSignature((signature) =>
      Buffer.concat([signature.subarray(0, 32), bytes(order - number(signature.subarray(32)))]),
    ),
    outcome: { status: 200, result: 'read' },
    ran: ['read'],
  },
  {
    name: 'the signature is in DER',
    by: (stage) => {
      const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'at+jwt' }
      return stage.call(compact(header, claims(stage), by(stage.keys.ES256, { dsaEncoding: 'der' })))
    },
    outcome: wrongSignature,
  },
  { name: 'a byte is missing', by: withSignature((signature) => signature.subarray(0, 63)), outcome: wrongSignature },
  {
    name: 'a zero is added',
    by: withSignature((signature) => Buffer.concat([signature, Buffer.alloc(1)])),
    outcome: wrongSignature,
  },
  {
    name: 'r and s are written with a zero in front of each',
    by: withSignature((signature) =>
      Buffer.concat([Buffer.alloc(1), signature.subarray(0, 32), Buffer.alloc(1), signature.subarray(32)]),
    ),
    outcome: wrongSignature,
  },
  {
    name: 'the signature comes twice',
    by: withSignature((signature) => Buffer.concat([signature, signature])),
    outcome: wrongSignature,
  },
  {
    name: 'one bit is flipped',
    by: withSignature((signature) => {
      signature[40] = (signature[40] as number) ^ 1
      return signature
    }),
    outcome: wrongSignature,
  },
  {
    name: 'the signature is the claims',
    by: (stage) =>
      stage.call(
        compact({ alg: 'ES256', kid: stage.keys.ES256.kid }, claims(stage), (text) => text.split('.')[1] ?? ''),
      ),
    outcome: wrongSignature,
  },
  {
    // RFC 7515, section 2: without padding.
    name: 'the signature is padded',
    by: withSignature((signature) => `${signature.toString('base64url')}==`),
    outcome: broken,
  },
  {
    // One text, one spelling.
    name: 'the last character of the signature has other spare bits',
    by: withSignature((signature) => respelled(signature.toString('base64url'))),
    outcome: broken,
  },
  {
    name: 'the signature is in the alphabet of base64',
    by: withSignature((signature) => {
      signature[0] = 0xfb
      signature[1] = 0xff
      return signature.toString('base64').replace(/=/g, '')
    }),
    outcome: broken,
  },
  {
    name: 'the signature has a character outside of base64',
    by: withSignature((signature) => `${signature.toString('base64url').slice(1)}~`),
    outcome: broken,
  },
  {
    name: 'the claims are padded',
    by: async (stage) => {
      const [header, payload, signature] = (await stage.token()).split('.')
      return stage.call(`${header}.${payload}=.${signature}`)
    },
    outcome: notSent,
  },
  {
    name: 'there is a space in the token',
    by: async (stage) => stage.call((await stage.token()).replace('.', ' .')),
    outcome: notSent,
  },
  {
    name: 'the claims are not UTF-8',
    by: (stage) => {
      const header = encoded({ alg: 'ES256', kid: stage.keys.ES256.kid })
      const payload = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('base64url')
      return stage.call(`${header}.${payload}.${by(stage.keys.ES256)(`${header}.${payload}`).toString('base64url')}`)
    },
    outcome: worthless,
  },
  ...['null', '[]', '"text"', '7', '', '{', '{"iss":'].map(
    (payload): Attack => ({
      name: `the claims are ${payload === '' ? 'empty' : payload}`,
      by: (stage) => stage.call(compact({ alg: 'ES256', kid: stage.keys.ES256.kid }, payload, by(stage.keys.ES256))),
      outcome: worthless,
    }),
  ),
  ...['', '{', '[]', 'null', '"ES256"'].map(
    (header): Attack => ({
      name: `the header is ${header === '' ? 'empty' : header}`,
      by: (stage) => stage.call(compact(header, claims(stage), by(stage.keys.ES256))),
      outcome: broken,
    }),
  ),
]

const packages: Attack[] = [
  {
    name: 'a JWE where a JWS belongs',
    by: (stage) => stage.call(`${encoded({ alg: 'dir', enc: 'A256GCM' })}..${'A'.repeat(16)}.${'A'.repeat(40)}.AAAA`),
    outcome: worthless,
  },
  {
    name: 'a JWE with the public key, which declares a valid token inside',
    by: async (stage) => {
      const { CompactEncrypt, importJWK } = await import('jose')
      const { alg: _, use: __, ...jwk } = stage.keys.RS256.publicJwk
      const inner = Buffer.from(await stage.token())
      const token = await new CompactEncrypt(inner)
        .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', cty: 'JWT', kid: stage.keys.RS256.kid })
        .encrypt(await importJWK(jwk, 'RSA-OAEP-256'))
      return stage.call(token)
    },
    outcome: worthless,
  },
  {
    name: 'a JWT in a JWT',
    by: async (stage) => {
      const header = { alg: 'ES256', kid: stage.keys.ES256.kid, typ: 'JWT', cty: 'JWT' }
      return stage.call(compact(header, await stage.token(), by(stage.keys.ES256)))
    },
    outcome: worthless,
  },
  {
    name: 'a JWS in JSON, base64url',
    by: async (stage) => {
      const [header, payload, signature] = (await stage.token()).split('.')
      return stage.call(encoded({ payload, signatures: [{ protected: header, signature }] }))
    },
    outcome: worthless,
  },
  {
    name: 'a token with a fourth part',
    by: async (stage) => stage.call(`${await stage.token()}.e30`),
    outcome: worthless,
  },
  { name: 'two dots', by: (stage) => stage.call('..'), outcome: worthless },
  {
    name: 'an opaque token without introspection',
    by: (stage) => stage.call('2YotnFZFEjr1zCsicMWpAA'),
    outcome: worthless,
  },
  { name: 'the word undefined', by: (stage) => stage.call('undefined'), outcome: worthless },
]

export const signed: Readonly<Record<string, readonly Attack[]>> = {
  'signatures worked on': signatures,
  'other packages': packages,
}
