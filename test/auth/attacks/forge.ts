/** Tokens as an attacker writes them: any header, any claims, any signature. */
import { createHmac, createPublicKey, KeyObject, sign } from 'node:crypto'
import type { Key } from '../authorization-server.ts'
import type { Stage } from './stage.ts'

export const encoded = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** @param signature of the text in front of it; none when left out */
export const compact = (header: unknown, claims: unknown, signature: (text: string) => Buffer | string = () => '') => {
  const text = `${encoded(header)}.${encoded(claims)}`
  const signed = signature(text)
  return `${text}.${typeof signed === 'string' ? signed : signed.toString('base64url')}`
}

/** What a token that is good here claims. */
export const claims = (stage: Stage, changes: object = {}) => {
  const now = Math.floor(Date.now() / 1000)
  const { audience: aud, issuer } = stage
  return {
    iss: issuer.issuer,
    aud,
    sub: 'ada',
    client_id: 'client',
    iat: now,
    exp: now + 600,
    scope: 'notes:read',
    ...changes,
  }
}

export const hmac =
  (secret: string | Buffer, hash = 'sha256') =>
  (text: string) =>
    createHmac(hash, secret).update(text).digest()

/** The key as other programs are given it. */
export const pem = ({ publicJwk }: Key): string =>
  createPublicKey({ key: publicJwk as never, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString()

export const der = ({ publicJwk }: Key): Buffer =>
  createPublicKey({ key: publicJwk as never, format: 'jwk' }).export({ type: 'spki', format: 'der' })

/** Signs as the owner of a key does, whatever the header says. */
export const by =
  ({ privateKey }: Key, how: { dsaEncoding?: 'der' | 'ieee-p1363'; padding?: number; hash?: string | null } = {}) =>
  (text: string): Buffer => {
    const { hash = 'sha256', ...settings } = { dsaEncoding: 'ieee-p1363' as const, ...how }
    return sign(hash, Buffer.from(text), {
      key: privateKey instanceof KeyObject ? privateKey : KeyObject.from(privateKey as never),
      ...settings,
    } as never)
  }
