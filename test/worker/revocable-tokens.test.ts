/** Which tokens an open stream verifies again: those that their issuer can revoke. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { TokenVerifier } from '../../worker/plugins/auth/token-to-principal.ts'
import type { ServerInfo } from '../../worker/request-hooks.ts'

const issuer = 'https://auth.example'
const audience = 'https://mcp.example/mcp'
const request = new Request(audience)
const site = { waitUntil: () => {}, report: () => {} } as unknown as ServerInfo // all that the verifier uses of it

test('an open stream verifies an opaque token again, and no JWT', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  let active = true
  const exp = Math.floor(Date.now() / 1000) + 600
  const bodies: Record<string, () => Promise<object>> = {
    '/introspect': async () => ({ active, iss: issuer, sub: 'ada', aud: audience, exp }),
    '/keys': async () => ({ keys: [await exportJWK(publicKey)] }),
  }
  const metadata = { issuer, jwks_uri: `${issuer}/keys`, introspection_endpoint: `${issuer}/introspect` }
  const verifier = new TokenVerifier({
    issuer,
    introspection: { clientId: 'mcp', clientSecret: 'secret' },
    tokenCacheMs: 0,
    fetch: async (url) => Response.json(await (bodies[new URL(url).pathname]?.() ?? metadata)),
  })
  const credentialOf = async (token: string) => (await verifier.principal(token, [audience], request, site)).credential
  const jwt = new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'ES256' }).setIssuer(issuer).setAudience(audience)
  expect(await credentialOf(await jwt.setExpirationTime(exp).sign(privateKey))).toEqual({ expires: expect.any(Number) })
  const { recheck } = await credentialOf('opaque')
  expect(await recheck?.verify()).toHaveProperty('recheck')
  active = false
  await expect(recheck?.verify()).rejects.toThrow('The token is not valid for this resource')
})
