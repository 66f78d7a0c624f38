import { expect, test } from 'vitest'
import type { KeptTokens, ProviderCalls } from '../../durable-objects/rpc.ts'
import { UpstreamTokens } from '../../durable-objects/sign-in/upstream-tokens.ts'

const user = 'github.1815'

/** A provider that says with which access token it was asked. */
const asking: ProviderCalls = {
  name: 'github',
  refresh: async () => undefined,
  user: async ({ accessToken }) => ({ is: 'known', profile: { accessToken } }),
  revoke: async () => {},
}

test('a user whose tokens of the provider can no longer be read loses access', async () => {
  const kv = new Map([['tokens:github', 'sealed with a key that was removed']])
  // What it reads of the object and of the plugin, and no more.
  const tokens = new UpstreamTokens({ kv } as never, { open: async () => undefined } as never)
  expect(await tokens.user(user, asking)).toMatchObject({ is: 'denied' })
})

const hour = 60 * 60_000

function emptyTokens(): UpstreamTokens {
  const host = {
    seal: async (_user: string, _provider: string, tokens: KeptTokens) => JSON.stringify(tokens),
    open: async (_user: string, _provider: string, sealed: string) => JSON.parse(sealed),
    holds: (_provider: ProviderCalls, { scopes }: KeptTokens, scope: string) => scopes.includes(scope),
  }
  const stored = new Map<string, string>()
  const kv = { get: (key: string) => stored.get(key), put: (key: string, value: string) => stored.set(key, value) }
  return new UpstreamTokens({ kv } as never, host as never)
}

const connected = { accessToken: 'connected', scopes: ['user', 'repo'], account: '1815' }
const signedIn = { accessToken: 'signed in', scopes: ['user'], account: '1815' }

test.each<{ what: string; before: Partial<KeptTokens>; next: Partial<KeptTokens>; kept: string }>([
  { what: 'tokens that do not expire stay', before: {}, next: { refreshToken: 'r' }, kept: 'connected' },
  {
    what: 'tokens that can be refreshed stay',
    before: { refreshToken: 'r', expires: Date.now() + hour },
    next: {},
    kept: 'connected',
  },
  {
    what: 'tokens that end stay when the new ones end, too',
    before: { expires: Date.now() + hour },
    next: { expires: Date.now() + 2 * hour },
    kept: 'connected',
  },
  {
    what: 'tokens that end are replaced by those that can be refreshed, with which the provider can be asked',
    before: { expires: Date.now() + hour },
    next: { refreshToken: 'r', expires: Date.now() + hour },
    kept: 'signed in',
  },
])('at a sign-in with fewer scopes, $what', async ({ before, next, kept }) => {
  const tokens = emptyTokens()
  await tokens.put(user, asking, { ...connected, ...before }, [], false)
  await tokens.put(user, asking, { ...signedIn, ...next }, [], true)
  expect(await tokens.user(user, asking)).toEqual({ is: 'known', profile: { accessToken: kept } })
})

test('a user whose tokens have ended, and cannot be refreshed, is who signed in', async () => {
  const tokens = emptyTokens()
  await tokens.put(user, asking, { ...signedIn, expires: Date.now() - 1 }, [], true)
  expect(await tokens.user(user, asking)).toEqual({ is: 'unchanged' })
})
