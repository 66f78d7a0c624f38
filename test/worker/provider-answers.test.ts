/** Answers of identity providers: they are bounded before they are parsed, and may take their time. */
import { expect, test, vi } from 'vitest'
import { oauth2, oidc } from '../../worker/plugins/sign-in/index.ts'

const mebibyte = 1024 * 1024

/** Returns a `fetch` whose responses never end, and the bytes that were read of them. */
function endless(status: number) {
  const read = { bytes: 0 }
  const chunk = new TextEncoder().encode('[],'.repeat(10_000))
  const fetch = async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          read.bytes += chunk.byteLength
          controller.enqueue(chunk)
        },
      }),
      { status, headers: { 'Content-Type': 'application/json' } },
    )
  return { fetch, read }
}

const client = { clientId: 'edge', clientSecret: 'hush' }
const visit = {
  redirectUri: 'https://mcp.example.com/oauth/callback/x',
  state: 's',
  nonce: 'n',
  codeVerifier: 'v'.repeat(43),
}
const tokens = { accessToken: 'a', refreshToken: 'r', scopes: [] }
const example = (fetch: () => Promise<Response>) =>
  oauth2({
    ...client,
    fetch,
    authorizationUrl: 'https://example.com/authorize',
    tokenUrl: 'https://example.com/token',
    revocationUrl: 'https://example.com/revoke',
    user: async (_, get) => ({ id: String(await get('https://example.com/me')) }),
  })
const company = (fetch: () => Promise<Response>) => oidc({ ...client, fetch, issuer: 'https://login.example.com' })
type MakeProvider = typeof example

test.each<[string, MakeProvider, (provider: ReturnType<MakeProvider>) => Promise<unknown> | undefined]>([
  ['metadata', company, (provider) => provider.authorizationUrl(visit)],
  ['tokens', example, (provider) => provider.finish(new URL(`${visit.redirectUri}?code=c&state=s`), visit)],
  ['refreshed tokens', example, (provider) => provider.refresh?.(tokens)],
  ['the user', example, (provider) => provider.user?.(tokens)],
])('an endless answer with %s is refused after 1 MiB', async (_, make, ask) => {
  const { fetch, read } = endless(200)
  await expect(ask(make(fetch))).rejects.toThrow(/ with more than 1048576 bytes$/)
  expect(read.bytes).toBeLessThan(1.2 * mebibyte)
})

test.each<[string, (provider: ReturnType<MakeProvider>) => Promise<unknown> | undefined, RegExp]>([
  ['a revocation', (provider) => provider.revoke?.('t'), /./],
  ['the user', (provider) => provider.user?.(tokens), /does not accept the access token/],
])('an endless error for %s is read up to 1 MiB', async (_, ask, message) => {
  const { fetch, read } = endless(401)
  await expect(ask(example(fetch))).rejects.toThrow(message)
  expect(read.bytes).toBeLessThan(1.2 * mebibyte)
})

test.each<[string, (provider: ReturnType<MakeProvider>) => Promise<{ expires?: number } | undefined>]>([
  [
    'a sign-in',
    async (provider) => (await provider.finish(new URL(`${visit.redirectUri}?code=c&state=s`), visit)).tokens,
  ],
  ['a refresh', async (provider) => provider.refresh?.(tokens)],
])('the lifetime of the tokens of %s begins before their answer', async (_, ask) => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const sent = Date.now()
    const fetch = async () => {
      vi.setSystemTime(sent + 9000)
      return Response.json({ access_token: 'a', token_type: 'bearer', expires_in: 5 })
    }
    expect(await ask(example(fetch))).toMatchObject({ expires: sent + 5000 })
  } finally {
    vi.useRealTimers()
  }
})
