import { describe, expect, test, vi } from 'vitest'
import type { KeptTokens, TokensName } from '../../durable-objects/sign-in/rpc.ts'
import { type ProviderCalls, UpstreamTokens } from '../../durable-objects/sign-in/upstream-tokens.ts'

const user = 'github.1815'

/** A provider that says with which access token it was asked. */
const asking: ProviderCalls = {
  name: 'github',
  entry: 'github',
  refresh: async () => undefined,
  user: async ({ accessToken }) => ({ is: 'known', profile: { accessToken } }),
}

/** A provider that replaces each refresh token. */
const rotating = {
  ...asking,
  refresh: async (tokens) => ({ ...tokens, accessToken: 'next', refreshToken: `${tokens.refreshToken}+` }),
} satisfies ProviderCalls

/** A provider whose API accepts no access token but one that was connected. */
const refusing: ProviderCalls = {
  ...asking,
  user: async ({ accessToken }) => (accessToken === 'connected' ? asking.user({ accessToken } as never) : 'rejected'),
}

test('a user whose tokens of the provider can no longer be read loses access', async () => {
  const kv = new Map([['tokens:github', 'sealed with a key that was removed']])
  // What it reads of the object and of the plugin, and no more.
  const tokens = new UpstreamTokens({ kv } as never, { open: async () => undefined } as never)
  expect(await tokens.user(user, asking)).toMatchObject({ is: 'denied' })
})

const hour = 60 * 60_000

/** Returns tokens in an empty object. @param onSealing called while tokens are sealed or unsealed @param sync makes writes durable */
function emptyTokens(
  onSealing: () => Promise<void> = async () => {},
  revoke: (tokens: KeptTokens) => Promise<void> = async () => {},
  sync: () => Promise<void> = async () => {},
  stored = new Map<string, unknown>(),
): UpstreamTokens {
  const host = {
    seal: async (_user: string, _provider: string, tokens: KeptTokens) => {
      await onSealing()
      return JSON.stringify([tokens, crypto.randomUUID()])
    },
    open: async (_user: string, _provider: string, sealed: string) => {
      await onSealing()
      return JSON.parse(sealed)[0]
    },
    held: (_of: TokensName, { scopes }: KeptTokens) => new Set(scopes),
    revoke,
  }
  const kv = {
    get: (key: string) => stored.get(key),
    put: (key: string, value: unknown) => stored.set(key, value),
    delete: (key: string) => stored.delete(key),
    list: ({ prefix }: { prefix: string }) => [...stored].filter(([key]) => key.startsWith(prefix)),
  }
  return new UpstreamTokens({ kv, sync } as never, host as never)
}

const connected = { accessToken: 'connected', scopes: ['user', 'repo'], account: '1815' }
const signedIn = { accessToken: 'signed in', scopes: ['user'], account: '1815' }

test('tokens of a sign-in do not take the place of those of a later one', async () => {
  const tokens = emptyTokens()
  const latest = () => tokens.token(user, asking, [])
  await tokens.put(user, asking, { ...signedIn, accessToken: 'later', askedAt: 2 }, [], true)
  await tokens.put(user, asking, { ...signedIn, accessToken: 'earlier', askedAt: 1 }, [], true)
  expect(await latest()).toMatchObject({ accessToken: 'later' })
  await tokens.put(user, asking, { ...connected, askedAt: undefined }, [], false)
  await tokens.put(
    user,
    asking,
    { ...signedIn, accessToken: 'latest', idToken: { is: 'latest' }, askedAt: 3 },
    [],
    true,
  )
  await tokens.put(user, asking, { ...signedIn, idToken: { is: 'earlier' }, askedAt: 1 }, [], true)
  const telling: ProviderCalls = {
    ...asking,
    user: async ({ idToken }) => ({ is: 'known', profile: { idToken } }),
  }
  expect(await tokens.user(user, telling)).toMatchObject({ profile: { idToken: { is: 'latest' } } })
})

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

test('a user is asked about with the refresh token of tokens that do not tell who the user is', async () => {
  // A provider that repeats no ID token in its answer: OpenID Connect Core, section 12.2.
  const silent: ProviderCalls = { ...rotating, user: async () => ({ is: 'unchanged' }) }
  const tokens = emptyTokens()
  await tokens.put(user, silent, { ...signedIn, refreshToken: 'r', expires: Date.now() + hour }, [], true)
  expect(await tokens.user(user, silent)).toEqual({ is: 'unchanged' })
  expect(await tokens.user(user, { ...silent, refresh: async () => undefined })).toMatchObject({ is: 'denied' })
})

test('a new token that expires before the provider is asked with it does not end the access', async () => {
  const tokens = emptyTokens()
  await tokens.put(user, asking, { ...signedIn, refreshToken: 'r', expires: Date.now() }, [], true)
  const late: ProviderCalls = {
    ...refusing,
    refresh: async (old) => ({ ...old, accessToken: 'late', refreshToken: 'r+', expires: Date.now() - 1 }),
  }
  expect(await tokens.user(user, late)).toEqual({ is: 'unanswered' })
  expect(await tokens.user(user, rotating)).toEqual({ is: 'known', profile: { accessToken: 'next' } })
})

describe('the tokens of a sign-in with fewer scopes than those that were connected', () => {
  async function both(before: Partial<KeptTokens> = {}, next: Partial<KeptTokens> = {}) {
    const revoked: string[] = []
    const tokens = emptyTokens(undefined, async ({ accessToken }) => void revoked.push(accessToken))
    await tokens.put(user, asking, { ...connected, ...before }, [], false)
    await tokens.put(user, asking, { ...signedIn, ...next }, [], true)
    return { tokens, revoked }
  }

  test('are returned once an API rejects the others, whose scopes are requested again', async () => {
    const { tokens } = await both()
    expect(await tokens.token(user, asking, ['repo'])).toMatchObject({ accessToken: 'connected' })
    expect(await tokens.token(user, asking, ['user'], 'connected')).toMatchObject({ accessToken: 'signed in' })
    expect(await tokens.token(user, asking, ['repo'])).toMatchObject({
      missing: 'scopes',
      held: ['user', 'repo'],
    })
    expect(await tokens.token(user, asking, [], 'signed in')).toMatchObject({ missing: 'tokens' })
  })

  test('take the place of the others when these end', async () => {
    const { tokens } = await both({ expires: Date.now() - 1 + hour }, { expires: Date.now() + 2 * hour })
    vi.useFakeTimers({ now: Date.now() + hour, toFake: ['Date'] })
    try {
      expect(await tokens.user(user, asking)).toEqual({ is: 'known', profile: { accessToken: 'signed in' } })
    } finally {
      vi.useRealTimers()
    }
  })

  test('stay when the others are refreshed, and do not share a refresh token with them', async () => {
    const { tokens } = await both({ refreshToken: 'r' }, { refreshToken: 'r' })
    expect(await tokens.token(user, rotating, [], 'connected')).toMatchObject({ accessToken: 'next' })
    expect(await tokens.token(user, asking, [], 'next')).toMatchObject({ accessToken: 'signed in' })
    expect(await tokens.token(user, rotating, [], 'signed in')).toMatchObject({ missing: 'tokens' })
  })

  test('are revoked with them', async () => {
    const { tokens, revoked } = await both()
    await tokens.delete(user)
    expect(revoked).toEqual(['connected', 'signed in'])
  })
})

test('tokens that are connected without a refresh token, while the one before is sent, get the one that replaces it', async () => {
  const tokens = emptyTokens()
  const sent: unknown[] = []
  const issuing: ProviderCalls = {
    ...asking,
    async refresh(old) {
      sent.push(old.refreshToken)
      if (sent.length === 1) await tokens.put(user, asking, connected, [], false)
      return rotating.refresh(old)
    },
  }
  await tokens.put(user, asking, { ...signedIn, refreshToken: 'r' }, [], true)
  expect(await tokens.token(user, issuing, [], 'signed in')).toMatchObject({ accessToken: 'connected' })
  expect(await tokens.token(user, issuing, [], 'connected')).toMatchObject({ accessToken: 'next' })
  expect(sent).toEqual(['r', 'r+'])
})

describe.each<{ what: string; run(tokens: UpstreamTokens): Promise<unknown> }>([
  { what: 'are refreshed', run: (tokens) => tokens.token(user, rotating, [], 'first') },
  { what: 'are refused', run: (tokens) => tokens.user(user, refusing) },
  { what: 'cannot be replaced', run: (tokens) => tokens.token(user, asking, [], 'first') },
])('while tokens $what', ({ what, run }) => {
  const first = {
    ...signedIn,
    accessToken: 'first',
    issuer: undefined,
    clientId: undefined,
    ...(what === 'are refreshed' && { refreshToken: 'r1', expires: Date.now() + hour }),
  }

  /** Does something else at a step of the run, from 0 to the last one. Returns the access token that is stored after each of the runs. */
  async function atEachStep(other: (tokens: UpstreamTokens) => Promise<void>): Promise<unknown[]> {
    const found: unknown[] = []
    for (let at = 0, isDone = true; isDone; at++) {
      isDone = false
      let left = Number.POSITIVE_INFINITY
      const tokens = emptyTokens(async () => {
        if (left-- !== 0) return
        isDone = true
        await other(tokens)
      })
      await tokens.put(user, asking, first, [], false)
      left = at
      await run(tokens)
      left = Number.POSITIVE_INFINITY
      const answer = await tokens.token(user, asking, [])
      if (isDone) found.push('accessToken' in answer ? answer.accessToken : undefined)
    }
    return found
  }

  test('those of a connection that the user makes are kept', async () => {
    const found = await atEachStep((tokens) => tokens.put(user, asking, connected, ['repo'], false))
    expect(found.length).toBeGreaterThan(1)
    expect(new Set(found)).toEqual(new Set(['connected']))
  })

  test('a sign-out deletes them', async () => {
    const found = await atEachStep((tokens) => tokens.delete(user))
    expect(found.length).toBeGreaterThan(1)
    expect(new Set(found)).toEqual(new Set([undefined]))
  })
})

test('a refresh is sent when its time is durable that another instance reads, also if the storage was slow', async () => {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] })
  try {
    const delaysMs = [25_000, 6_000, 10]
    const sync = async () => void vi.setSystemTime(Date.now() + (delaysMs.shift() ?? 0))
    const stored = new Map<string, unknown>()
    const tokens = emptyTokens(undefined, undefined, sync, stored)
    const ages: number[] = []
    const timed: ProviderCalls = {
      ...asking,
      async refresh(old) {
        ages.push(Date.now() - Number(stored.get('refreshing:github')))
        return rotating.refresh(old)
      },
    }
    await tokens.put(user, asking, { ...signedIn, refreshToken: 'r', expires: hour }, [], true)
    expect(await tokens.token(user, timed, [], 'signed in')).toMatchObject({ accessToken: 'next' })
    expect(ages).toEqual([10])
  } finally {
    vi.useRealTimers()
  }
})

test('the scopes of earlier tokens that later ones lack are the newest 500', async () => {
  const tokens = emptyTokens()
  const named = (start: string) => Array.from({ length: 500 }, (_, index) => `${start}${index}`)
  for (const start of ['a', 'b', 'c']) {
    await tokens.put(user, asking, { ...signedIn, accessToken: start, scopes: named(start) }, [], true)
  }
  expect(await tokens.token(user, asking, ['other'])).toMatchObject({ held: [...named('c'), ...named('b')] })
})
