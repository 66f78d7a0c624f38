/** Claims of random types: the principal has exactly the strings that the claims say, or the token is refused. */
import { expect } from 'vitest'
import { BadToken } from '../../worker/plugins/auth/bad-token.ts'
import { audiencesOf, checkTimes, expiryOf, principalOf } from '../../worker/plugins/auth/claims.ts'
import { checkPrincipal } from '../../worker/protocol/check-principal.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Chance } from '../support/random.ts'
import { property } from './cases.ts'

const texts = ['ada', 'acme', ' ', '0', '42', 'null', 'é', '\u2028', '__proto__', '']
const names = [
  'iss',
  'sub',
  'client_id',
  'azp',
  'appid',
  'common_name',
  'org',
  'scope',
  'scp',
  'aud',
  'exp',
  'nbf',
  'iat',
]

function anyValue(random: Chance, depth = 0): unknown {
  const kinds = [
    () => random.one(texts),
    () => random.one(texts),
    () => random.one([0, -1, 42, 1e300, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]),
    () => random.often(0.5),
    () => null,
    () => random.some(0, 3, () => (depth > 2 ? 'deep' : anyValue(random, depth + 1))),
    () => ({ [random.one(texts)]: depth > 2 ? 'deep' : anyValue(random, depth + 1) }),
  ]
  return random.one(kinds)()
}

/** Mostly good claims, so that many cases are not refused. */
function someClaims(random: Chance): Record<string, unknown> {
  const claims: Record<string, unknown> = { iss: 'https://issuer.example', sub: 'ada' }
  for (const name of names) {
    if (random.rarely(6)) claims[name] = anyValue(random)
    else if (random.rarely(4)) claims[name] = random.one(texts)
    else if (random.rarely(8)) delete claims[name]
  }
  return claims
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isAbsent = (value: unknown) => value === undefined

/** The result, or the refusal. */
function attempt<T, E extends Error = BadToken>(work: () => T, refused?: new (...args: never[]) => E): T | E {
  try {
    return work()
  } catch (problem) {
    if (problem instanceof (refused ?? BadToken)) return problem as E
    throw problem
  }
}

property('claims of any type give exactly their principal, or are refused', 20_000, (random) => {
  const claims = someClaims(random)
  const serviceTokens = random.often(0.5)
  const found = attempt(() => principalOf(claims, { tenantClaim: 'org', serviceTokens }))
  const { iss, sub, client_id, azp, appid, common_name, org } = claims
  if (found instanceof BadToken) {
    const isGood =
      isText(iss) && isText(sub) && [client_id, azp, appid, org].every((each) => isText(each) || isAbsent(each))
    const areScopes = (value: unknown) =>
      isAbsent(value) ||
      typeof value === 'string' ||
      (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    expect(isGood && areScopes(claims.scope) && areScopes(claims.scp), JSON.stringify(claims)).toBe(false)
    return
  }
  expect(found.issuer).toBe(iss)
  expect(found.tenant).toBe(org)
  expect(found.client).toBe(client_id ?? azp ?? appid)
  expect(found.subject).toBe(serviceTokens && sub === '' ? common_name : sub)
  for (const text of [found.issuer, found.subject]) expect(isText(text)).toBe(true)
  for (const text of [found.client, found.tenant]) expect(isText(text) || isAbsent(text)).toBe(true)
  expect(found.scopes.every((scope) => typeof scope === 'string')).toBe(true)
  expect(checkPrincipal(found)).toBe(found)
})

property('times and audiences of any type are read by their type, or are refused', 20_000, (random) => {
  const claims = someClaims(random)
  const { exp, nbf, iat, aud } = claims
  const now = random.one([0, 42_000, 1e12])
  const expiresAt = attempt(() => {
    checkTimes(claims, 30, now)
    return expiryOf(claims, 30)
  })
  if (!(expiresAt instanceof BadToken)) {
    for (const time of [exp, nbf, iat]) expect(isAbsent(time) || Number.isFinite(time)).toBe(true)
    expect(expiresAt).toBe(isAbsent(exp) ? Number.POSITIVE_INFINITY : ((exp as number) + 30) * 1000)
    expect(expiresAt).toBeGreaterThanOrEqual(now)
  }
  const audiences = attempt(() => audiencesOf(claims))
  if (!(audiences instanceof BadToken)) expect(audiences).toEqual(isAbsent(aud) ? [] : [aud].flat())
})

property('a principal that has a member of the wrong type is refused', 20_000, (random) => {
  const good = { issuer: 'https://issuer.example', subject: 'ada', scopes: ['a'], claims: {} }
  const name = random.one(['issuer', 'subject', 'client', 'tenant', 'scopes', 'claims'])
  const value = anyValue(random)
  const found = attempt(() => checkPrincipal({ ...good, [name]: value }), McpError)
  const isRight =
    name === 'claims'
      ? typeof value === 'object' && value !== null
      : name === 'scopes'
        ? Array.isArray(value) && value.every((each) => typeof each === 'string')
        : isText(value)
  const isRefused = found instanceof McpError && found.kind === 'unauthorized'
  expect(isRefused, JSON.stringify({ [name]: value })).toBe(!isRight)
})
