/** One `bearer()` for several endpoints: each of them checks what is its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'
import { bearing, call } from './call.ts'

let issuer: AuthorizationServer
let server: TestServer
const at = (name: string) => new URL(`/${name}/mcp`, server.url)

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/endpoints', { ISSUER: issuer.issuer })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await issuer?.[Symbol.asyncDispose]()
})

describe('two endpoints that share one bearer()', () => {
  test.each([
    ['alpha', 'beta'],
    ['beta', 'alpha'],
    ['acme', 'globex'],
    ['alpha', 'acme'],
  ])('a token for /%s/mcp is refused at /%s/mcp, also after the first has accepted it', async (one, other) => {
    const headers = bearing(await issuer.token(at(one).href))
    const refused = {
      status: 401,
      text: `The token is for another audience than ${at(other).href}`,
    }
    expect(await call(at(other), headers)).toMatchObject(refused)
    for (const _ of [1, 2]) {
      expect(await call(at(one), headers)).toMatchObject({ status: 200 })
      expect(await call(at(other), headers)).toMatchObject(refused)
    }
  })

  test('a token for both endpoints is accepted at both, as the tenant of each', async () => {
    const headers = bearing(await issuer.token(at('acme').href, { aud: [at('acme').href, at('globex').href] }))
    for (const _ of [1, 2]) {
      expect(await call(at('acme'), headers)).toMatchObject({ status: 200, text: '["ada","client","acme"]' })
      expect(await call(at('globex'), headers)).toMatchObject({ status: 200, text: '["ada","client","globex"]' })
    }
  })

  test('a token for another host of the same endpoint is refused', async () => {
    const local = new URL(at('alpha'))
    local.hostname = local.hostname === 'localhost' ? '127.0.0.1' : 'localhost'
    const headers = bearing(await issuer.token(at('alpha').href))
    expect(await call(at('alpha'), headers)).toMatchObject({ status: 200 })
    expect(await call(local, headers)).toMatchObject({ status: 401 })
  })
})
