/**
 * docs/how-it-works/security.md lists what holds where nothing decides about access, recipients or costs. Each optional member of the options
 * that decide is in the list, or here with those that decide nothing. Each row names its tests.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './pages.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const [, section = ''] = read('docs/how-it-works/security.md').split('## When nothing decides\n')
const rows = section
  .split('\n## ')[0]
  ?.split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| absent'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, absent = '', , tests = '']) => ({ absent, tests }))

/** The types of options that decide: where they are, how the list names their function, and the members that decide nothing. */
const deciding: Readonly<Record<string, readonly [file: string, of: string, harmless: string]>> = {
  SignInOptions: [
    'worker/plugins/sign-in/sign-in-options.ts',
    '`signIn()`',
    'scopes upstreams accessTokenTtl refreshTokenTtl rememberConsent',
  ],
  EnterpriseIssuer: ['worker/plugins/sign-in/sign-in-options.ts', '`enterprise`', 'jwksUri groupsClaim'],
  EnterpriseOptions: ['worker/plugins/sign-in/sign-in-options.ts', '`enterprise`', ''],
  ClientOptions: [
    'worker/plugins/sign-in/providers/client-options.ts',
    'a provider',
    'scopes additionalScopes impliedScopes name title authorizationParams fetch',
  ],
  OidcOptions: ['worker/plugins/sign-in/providers/oidc.ts', '`oidc()`', 'groupsClaim userInfo'],
  OAuth2Options: ['worker/plugins/sign-in/providers/oauth2.ts', '`oauth2()`', 'revocationUrl clientAuthentication'],
  GitHubOptions: ['worker/plugins/sign-in/providers/github.ts', '`github()`', 'url apiUrl'],
  GoogleOptions: ['worker/plugins/sign-in/providers/openid-providers.ts', '`google()`', ''],
  BearerOptions: [
    'worker/plugins/auth/bearer-options.ts',
    '`bearer()`',
    'scopes clockTolerance tokenCacheMs fetch resourceName resourceDocumentation',
  ],
  ClaimOptions: ['worker/plugins/auth/claims.ts', '`bearer()`', ''],
  IssuerOptions: ['worker/plugins/auth/verify-jwt.ts', '`bearer()`', ''],
  IntrospectionOptions: ['worker/plugins/auth/introspection.ts', '`bearer()`', 'url'],
  DpopOptions: ['worker/plugins/auth/dpop.ts', '`dpop`', 'algorithms maxAge'],
  CloudflareAccessOptions: ['worker/plugins/auth/presets.ts', '`cloudflareAccess()`', ''],
  ForTenantOptions: ['worker/plugins/auth/for-tenant.ts', '`forTenant()`', ''],
  ApiKeysOptions: ['worker/plugins/api-keys/api-keys.ts', '`apiKeys()`', 'prefix header maxPerOwner'],
  ApiKeyOwner: ['worker/plugins/api-keys/managed-keys.ts', 'a key', ''],
  NewApiKeyOptions: ['worker/plugins/api-keys/managed-keys.ts', 'a key', 'name'],
  RotateOptions: ['worker/plugins/api-keys/managed-keys.ts', 'a key', 'grace'],
  RateLimitOptions: ['worker/plugins/rate-limit/limiter.ts', '`rateLimit()`', 'streams time arguments'],
  RateLimit: ['worker/declarations/caller.ts', 'an entry', ''],
  AccessOptions: ['worker/declarations/caller.ts', 'an entry', 'listWithoutScopes'],
  StoredPrincipals: ['worker/declarations/stored-principal.ts', 'an auth', ''],
  EventDefinition: ['worker/plugins/events/event.ts', 'an event', 'description inputSchema resource'],
  EventsOptions: ['worker/plugins/events/events.ts', '`events()`', 'ttl maxTtl maxSubscriptions maxWaiting timeout'],
  UserRecipients: ['worker/protocol/changes.ts', '`{ user }`', ''],
}

function optionalMembers(type: string, file: string): string[] {
  const [, after = ''] = read(file).split(new RegExp(`export (?:type|interface) ${type}\\b`))
  const [body = ''] = after.split(/\n(?:\}|\/\*\*|export)/)
  return [...body.matchAll(/^\s+(?:readonly )?(\w+)\?[:(]/gm)].map(([, name = '']) => name)
}

test.each(Object.entries(deciding))('each optional member of %s is decided', (type, [file, of, harmless]) => {
  const members = optionalMembers(type, file)
  expect(members.length).toBeGreaterThan(0)
  const listed = (name: string) =>
    rows?.some(({ absent }) => absent.includes(`\`${name}\``) && absent.includes(of)) ?? false
  const others = harmless.split(' ')
  expect(members.filter((name) => !others.includes(name) && !listed(name))).toEqual([])
  expect(others.filter((name) => name !== '' && !members.includes(name))).toEqual([])
})

test.each(rows ?? [])('$absent has tests', ({ tests }) => {
  const named = tests.split('<br>').map((entry) => entry.split(' › '))
  for (const [file = '', name = ''] of named) {
    expect(name).not.toBe('')
    expect(read(file.replaceAll('`', '')).replaceAll("\\'", "'")).toContain(name)
  }
})
