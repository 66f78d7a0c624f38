/**
 * Where the code reads who a principal is. Names of what is stored, counted or cached for a principal come from `ownerKey`; each other use
 * is listed here with its reason.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

const claims = 'issuer|subject|tenant|client'
const uses = [
  /\bprincipalKey\(/g,
  new RegExp(`\\bprincipal\\??\\.(?:${claims})\\b`, 'gi'),
  // Destructured from a principal.
  new RegExp(`\\{[^{}]*\\b(?:${claims})\\b[^{}]*\\}(?:\\s*=\\s*|\\s*:\\s*)[\\w.?() ]*principal\\b`, 'gi'),
  // A key that is built from claims.
  /JSON\.stringify\(\[[^\]]*\b(?:issuer|subject|tenant)\b/g,
]

const usesIn = (source: string) => {
  const code = source.replace(/\/\*\*.*?\*\//gs, '')
  return uses.flatMap((pattern) => code.match(pattern) ?? []).length
}

/** Uses, by file: how many, and why they are no names, or names of their own. */
const allowed: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'worker/protocol/principal.ts': [7, 'makes the keys'],
  'worker/protocol/changes.ts': [
    2,
    'addresses of notifications: issuer, tenant and subject, at all endpoints of a server',
  ],
  // Bound to one client on purpose.
  'worker/sealing/seal.ts': [1, 'sealed texts belong to the client that got them'],
  'worker/plugins/sessions/session-id.ts': [1, 'as the sealed session id, in a cache for each endpoint'],
  'worker/plugins/auth/token-to-principal.ts': [2, 'compares the principals of one token'],
  'worker/engine/sealed-principal.ts': [4, 'compares principals and issuers; messages'],
  // Owners.
  'worker/plugins/state/state.ts': [2, 'checks and passes the tenant to ownerKey()'],
  'durable-objects/sign-in/upstream-tokens.ts': [1, 'names refreshes, by client at a provider and refresh token'],
  'worker/plugins/sign-in/upstream.ts': [4, 'names objects of the authorization server, by its origin and identity'],
  'worker/plugins/sign-in/current-grant.ts': [1, 'names grants of the authorization server, and compares their client'],
  'worker/plugins/sign-in/ended-access.ts': [1, 'names the end of grants, at the authorization server of a user'],
  'worker/plugins/sign-in/sign-in.ts': [1, 'names objects of the authorization server, and writes claims'],
  'worker/plugins/sign-in/user-grants.ts': [1, 'reads the subject that the developer passes'],
  'worker/plugins/events/events.ts': [
    2,
    'the client of the user; the user as a recipient: issuer, tenant and subject, as in changes.ts',
  ],
  'worker/plugins/events/read-log.ts': [1, 'the user as a recipient, too'],
  // Access.
  'worker/declarations/stored-principal.ts': [1, 'selects options by issuer'],
  'worker/http/access.ts': [1, 'compares the tenant with that of the address'],
  'worker/plugins/auth/for-tenant.ts': [4, 'compares the issuer and the tenant'],
  'worker/plugins/auth/claims.ts': [1, 'a message'],
  'worker/plugins/auth/one-of.ts': [3, 'finds the auth of an issuer'],
  'worker/plugins/auth/resource-server.ts': [2, 'compares the issuer; requires a tenant'],
  'worker/plugins/development/users.ts': [3, 'recognizes test users, in development'],
  // Recipients of notifications.
  'worker/plugins/sessions/run.ts': [1, 'sends the recipient to the session'],
  'worker/plugins/compose/proxy/announce-change.ts': [3, 'recipients of a change'],
  'worker/plugins/compose/proxy/proxied.ts': [2, 'what was announced to these recipients, in memory'],
  'worker/plugins/subscriptions/check-recipients.ts': [1, 'a message'],
  // Logs.
  'worker/plugins/observe/who-of.ts': [4, 'logs all of them'],
  'worker/plugins/observe/analytics-engine-sink.ts': [
    8,
    'logs them; the subject selects what Analytics Engine samples',
  ],
  'worker/plugins/observe/audit/audit.ts': [4, 'logs all of them'],
}

test('names for principals come from ownerKey()', () => {
  const files = globSync('{worker,durable-objects}/**/*.ts', { cwd: root, exclude: ['**/inspector/assets.ts'] })
  const found = files.map((file) => [file, usesIn(readFileSync(join(root, file), 'utf8'))] as const)
  expect(Object.fromEntries(found.filter(([, count]) => count > 0))).toEqual(
    Object.fromEntries(Object.entries(allowed).map(([file, [count]]) => [file, count])),
  )
})

test.each([
  'const key = principal.subject',
  'const { issuer, tenant } = call.principal',
  'const { subject: owner } = incoming.principal ?? {}',
  'cache.set(principalKey(principal), value)',
  'function keyOf({ subject }: Principal): string {}',
  'const name = JSON.stringify([issuer, subject])',
])('%s is a use', (code) => {
  expect(usesIn(code)).toBe(1)
})
