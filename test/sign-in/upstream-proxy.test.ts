/** `proxy()` with the token of the user: the option `upstream`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GitHub } from './github.ts'
import { signInAs } from './tokens.ts'

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/server', { GITHUB: gitHub.url, FAR: `${gitHub.url}/mcp` })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

/** The method and the token of each request to the upstream. */
const received: { method: string; token: string }[] = []
/** Answers a call; `undefined` to answer it as usual. */
let refuse: (token: string) => Response | undefined = () => undefined

/** An MCP server whose tools are named after the user of the token. */
async function answer(request: Request): Promise<Response> {
  const { id, method } = (await request.json()) as { id: number; method: string }
  const token = request.headers.get('Authorization')?.replace('Bearer ', '') ?? ''
  received.push({ method, token })
  const account = gitHub.tokens.get(token)
  if (!account) return unauthorized('Bearer error="invalid_token"')
  const refusal = method === 'tools/call' ? refuse(token) : undefined
  if (refusal) return refusal
  const results: Record<string, object> = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    'tools/list': { tools: [{ name: `as-${account.login}`, inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: `called as ${account.login}` }] },
  }
  const result = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public', ...results[method] }
  return Response.json({ jsonrpc: '2.0', id, result })
}

const unauthorized = (challenge = 'Bearer') =>
  new Response(null, { status: 401, headers: { 'WWW-Authenticate': challenge } })

beforeEach(() => {
  received.length = 0
  gitHub.refreshed.length = 0
  refuse = () => undefined
  gitHub.expiresIn = 3600
  gitHub.answers.set('/mcp', answer)
})

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const as = async (login: string) => {
    gitHub.account = { id: Math.floor(Math.random() * 1e9), login, name: login }
    const browser = new Browser()
    const { access_token: token } = await signInAs(server.url, browser)
    const client = await connect(server.url, {
      revision,
      token,
      capabilities: { elicitation: { url: {} } },
      answers: {
        async elicit(params: object) {
          await browser.connect(new URL(String('url' in params && params.url)))
          return { action: 'accept' as const }
        },
      },
    })
    /** Calls a tool. In sessions, the client opens links and calls again. */
    const call = async (name: string) =>
      textOf(
        await client.callTool(name).catch(async ({ data, message }) => {
          if (!data?.elicitations) throw new Error(message)
          await browser.connect(new URL(data.elicitations[0].url))
          return client.callTool(name)
        }),
      )
    const list = async () => {
      const { tools } = await client.request('tools/list')
      return (tools as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith('far_'))
    }
    return { client, call, list, [Symbol.asyncDispose]: () => client.close() }
  }

  test('each user has the list and the calls of the own token', async () => {
    await using ada = await as('ada')
    await using eve = await as('eve')
    for (let time = 1; time <= 2; time += 1) {
      expect(await ada.list()).toEqual(['far_as-ada'])
      expect(await eve.list()).toEqual(['far_as-eve'])
    }
    expect(await ada.call('far_as-ada')).toBe('called as ada')
    expect(await eve.call('far_as-eve')).toBe('called as eve')
    expect(received.filter(({ token }) => !gitHub.tokens.has(token))).toEqual([])
  })

  test('a token that the upstream refuses is refreshed, and the call is sent once more', async () => {
    await using ada = await as('ada')
    await ada.list()
    let refused: string | undefined
    refuse = (token) => {
      refused ??= token
      return refused === token ? unauthorized() : undefined
    }
    expect(await ada.call('far_as-ada')).toBe('called as ada')
    expect(received.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
  })

  test('a token that cannot be refreshed is connected again', async () => {
    await using ada = await as('ada')
    await ada.list()
    gitHub.tokens.clear()
    gitHub.refreshTokens.clear()
    expect(await ada.call('far_as-ada')).toBe('called as ada')
  })

  test('a scope that the upstream names is granted by the user', async () => {
    await using ada = await as('ada')
    let refused: string | undefined
    const headers = { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="repo"' }
    refuse = (token) => {
      refused ??= token
      return refused === token ? new Response(null, { status: 403, headers }) : undefined
    }
    expect(await ada.call('far_as-ada')).toBe('called as ada')
  })

  test('an upstream that refuses every token ends the call with an error that has no token', async () => {
    await using ada = await as('ada')
    refuse = () => unauthorized()
    const problem = await ada.call('far_as-ada').catch(({ message }) => message)
    expect(problem).toContain('refuses the token of the user with HTTP 401')
    const logs = JSON.stringify(server.harness.getLogs())
    for (const { token } of received) expect(problem + logs).not.toContain(token || 'no token')
  })

  test('a list has the entries of the upstream after a refresh of the token that it refuses', async () => {
    await using ada = await as('ada')
    gitHub.tokens.clear()
    expect(await ada.list()).toEqual(['far_as-ada'])
    expect(gitHub.refreshed).toHaveLength(1)
  })

  test('an upstream that redirects does not get the token at another place', async () => {
    await using ada = await as('ada')
    const tokens: (string | undefined)[] = []
    const elsewhere = createServer((request, response) => {
      tokens.push(request.headers.authorization)
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    const { port } = elsewhere.address() as AddressInfo
    try {
      refuse = () => Response.redirect(`http://127.0.0.1:${port}/mcp`, 307)
      const problem = await ada.call('far_as-ada').catch(({ message }) => message)
      expect(problem).toContain(`redirects to http://127.0.0.1:${port}/mcp`)
      expect(tokens).toEqual([])
    } finally {
      elsewhere.close()
    }
  })

  test('a list leaves the upstream out while the user has no token that it accepts', async () => {
    await using ada = await as('ada')
    gitHub.tokens.clear()
    gitHub.refreshTokens.clear()
    expect(await ada.list()).toEqual([])
  })
})
