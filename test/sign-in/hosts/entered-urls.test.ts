/** The URL that a user enters is the `resource` of the metadata that its client finds: RFC 9728, section 3.3. */
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../../worker/testing/provider/browser.ts'
import { Stage } from '../attacks/stage.ts'
import { seen, type Tokens } from '../client.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const resourceAt = async (url: URL): Promise<string> =>
  ((await (await fetch(url)).json()) as { resource: string }).resource

/** The first request of a client for an endpoint. */
const open = (url: URL, token?: string) =>
  fetch(url, {
    method: url.pathname.startsWith('/sse') ? 'GET' : 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    body: url.pathname.startsWith('/sse')
      ? null
      : JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
        }),
  })

describe.each(['/mcp', '/mcp/', '/sse', '/sse/'])('a user who enters %s', (path) => {
  test('reaches metadata of that URL by the challenge', async () => {
    const entered = stage.at(path)
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(await open(entered))
    expect(await resourceAt(resourceMetadataUrl as URL)).toBe(entered.href)
  })

  test('reaches metadata of that URL by the well-known path', async () => {
    expect(await resourceAt(stage.at(`/.well-known/oauth-protected-resource${path}`))).toBe(stage.at(path).href)
  })

  test('signs in with that URL as resource, and connects with the tokens', async () => {
    const resource = stage.at(path).href
    const asked = stage.ask(await stage.registered(), { resource })
    const code = await stage.code(asked, new Browser())
    const response = await stage.token({ ...stage.codeForm(asked, code), resource })
    expect(response.status).toBe(200)
    const { refresh_token } = (await response.json()) as Tokens
    const refreshed = await stage.token({ ...stage.refreshForm(asked.client, refresh_token), resource })
    expect(refreshed.status).toBe(200)
    const { access_token } = (await refreshed.json()) as Tokens
    const opened = await open(stage.at(path), access_token)
    expect(opened.status).toBe(200)
    await opened.body?.cancel()
  })
})

test('a client that reads the well-known path of the origin finds the endpoint', async () => {
  expect(await resourceAt(stage.at('/.well-known/oauth-protected-resource'))).toBe(stage.server.href)
})

test.each(['/mcp//', '/other/', '/', '/mcp/x/', '//mcp/'])('%s is no other name of an endpoint', async (path) => {
  const resource = `${stage.server.origin}${path}`
  const asked = stage.ask(await stage.registered(), { resource })
  expect(await seen(await fetch(asked.url, { redirect: 'manual' }))).toContain('error=invalid_target')
})

test('tokens for one endpoint are not accepted at the other', async () => {
  const asked = stage.ask(await stage.registered(), { resource: stage.at('/sse/').href })
  const { access_token } = (await (await stage.token(stage.codeForm(asked, await stage.code(asked)))).json()) as Tokens
  expect((await open(stage.at('/mcp/'), access_token)).status).toBe(401)
})
