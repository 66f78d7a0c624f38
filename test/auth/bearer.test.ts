import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, everyRevision } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { AuthorizationServer } from './authorization-server.ts'

let issuer: AuthorizationServer
let server: TestServer
let audience: string

beforeAll(async () => {
  issuer = await AuthorizationServer.start()
  server = await startServer('test/auth/protected', { ISSUER: issuer.issuer })
  audience = server.url.href
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

describe.each(everyRevision)('a client of %s', (revision) => {
  test('without a token gets the metadata URL in the challenge', async () => {
    const refused = await connect(server.url, { revision }).catch((problem) => problem)
    expect(refused).toMatchObject({ status: 401 })
  })

  test('calls the tools that the scopes of its token allow', async () => {
    const token = await issuer.token(audience, { scope: 'notes:read' })
    await using client = await connect(server.url, { revision, token })
    expect((await client.callTool('who')).content).toEqual([{ type: 'text', text: 'ada client  notes:read' }])
    expect((await client.callTool('read')).content).toEqual([{ type: 'text', text: 'read' }])
    const { tools } = (await client.request('tools/list')) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['who', 'read', 'write', 'ask', 'touch'])
    await expect(client.callTool('write')).rejects.toMatchObject({ status: 403 })
  })
})

test('the server publishes its protected resource metadata', async () => {
  for (const path of ['', '/mcp']) {
    const response = await fetch(new URL(`/.well-known/oauth-protected-resource${path}`, server.url))
    expect(await response.json()).toEqual({
      resource: audience,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['notes:read', 'notes:write', 'prompts'],
      bearer_methods_supported: ['header'],
    })
  }
})
