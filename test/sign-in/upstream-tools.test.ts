/** `openApiTools()` with the token of the user: the option `upstream`. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { GitHub } from './github.ts'
import { signInAs } from './tokens.ts'

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/server', { GITHUB: gitHub.url })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

/** The header `Authorization` of each request to the API, in their order. */
const sent: (string | null)[] = []
/** What the stand-in answers to `POST /user/repos`. */
let answer: (request: Request) => Response = () => new Response()
beforeEach(() => {
  sent.length = 0
  gitHub.expiresIn = 3600
  gitHub.account = { id: Math.floor(Math.random() * 1e9), login: 'ada', name: 'Ada' }
  gitHub.answers.set('/api/v3/user/repos', (request) => {
    sent.push(request.headers.get('Authorization'))
    return answer(request)
  })
})

const tokenIn = ({ headers }: Request) => headers.get('Authorization')?.replace('Bearer ', '') ?? ''
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

const made = () => new Response('made', { status: 201 })

const isCurrent = (request: Request) =>
  gitHub.tokens.has(tokenIn(request)) ? made() : new Response(null, { status: 401 })

describe.each(['2026-07-28', '2025-11-25'])('a client of %s', (revision) => {
  const client = async (opens = true, browser = new Browser()): Promise<TestClient> => {
    const { access_token: token } = await signInAs(server.url, browser)
    return connect(server.url, {
      revision,
      token,
      ...(opens && {
        capabilities: { elicitation: { url: {} } },
        answers: {
          async elicit(params: object) {
            await browser.connect(new URL(String('url' in params && params.url)))
            return { action: 'accept' as const }
          },
        },
      }),
    })
  }

  /** Calls a tool for a user who opens each link. In sessions, the client calls again then. */
  const callAndConnect = async (tool: string): Promise<string> => {
    const browser = new Browser()
    await using ada = await client(true, browser)
    const result = await ada.callTool(tool).catch(async ({ data }) => {
      await browser.connect(new URL(data.elicitations[0].url))
      return ada.callTool(tool)
    })
    return textOf(result)
  }

  test('the API receives the token of the user', async () => {
    await using ada = await client(false)
    expect(JSON.parse(textOf(await ada.callTool('user')))).toMatchObject({ login: 'ada', id: gitHub.account.id })
  })

  test('a token that the API refuses is refreshed, and the request is sent once more', async () => {
    answer = isCurrent
    await using ada = await client(false)
    gitHub.tokens.clear()
    expect(textOf(await ada.callTool('makeRepository'))).toBe('made')
    expect(sent).toHaveLength(2)
    expect(new Set(sent).size).toBe(2)
  })

  test('a token that is refused again is refused for the model', async () => {
    answer = () => new Response('bad credentials', { status: 401 })
    await using ada = await client(false)
    const text = textOf(await ada.callTool('makeRepository'))
    expect(text).toBe('POST /user/repos: HTTP 401. bad credentials')
    expect(sent).toHaveLength(2)
    for (const token of sent) expect(text).not.toContain(token?.slice(7))
  })

  test('a token that cannot be refreshed is connected again', async () => {
    answer = (request) => {
      if (sent.length > 1) return isCurrent(request)
      gitHub.tokens.clear()
      gitHub.refreshTokens.clear()
      return new Response(null, { status: 401 })
    }
    expect(await callAndConnect('makeRepository')).toBe('made')
  })

  test('an API that refuses each token asks for two connections, and then answers the model', async () => {
    gitHub.expiresIn = undefined
    answer = () => new Response('needs SSO', { status: 401 })
    const refused = 'POST /user/repos: HTTP 401. needs SSO'
    const browser = new Browser()
    await using ada = await client(false, browser)
    for (let time = 1; time <= 2; time += 1) {
      const [url = ''] = /http\S+$/.exec(textOf(await ada.callTool('makeRepository'))) ?? []
      await browser.connect(new URL(url))
    }
    for (let time = 1; time <= 3; time += 1) expect(textOf(await ada.callTool('makeRepository'))).toBe(refused)
  })

  test('an API that redirects does not get the token at another place', async () => {
    const tokens: (string | undefined)[] = []
    const elsewhere = createServer((request, response) => {
      tokens.push(request.headers.authorization)
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(elsewhere, 'listening')
    const { port } = elsewhere.address() as AddressInfo
    try {
      answer = () => Response.redirect(`http://127.0.0.1:${port}/user/repos`, 307)
      await using ada = await client()
      expect(textOf(await ada.callTool('makeRepository'))).toContain('follows only redirects of GET')
      expect(tokens).toEqual([])
    } finally {
      elsewhere.close()
    }
  })

  test('a scope that the API names is granted by the user', async () => {
    let granted: string | undefined
    answer = (request) => {
      granted ??= tokenIn(request)
      if (granted !== tokenIn(request)) return made()
      const challenge = 'Bearer error="insufficient_scope", scope="repo", error_description="more"'
      return new Response('no', { status: 403, headers: { 'WWW-Authenticate': challenge } })
    }
    expect(await callAndConnect('makeRepository')).toBe('made')
  })

  test.each([
    'Bearer error="insufficient_scope"',
    'Bearer scope="repo"',
    'Basic realm="api"',
    'Bearer error="insufficient_scope", scope=""',
    'Bearer error="insufficient_scope", scope="admin:everything"',
  ])('status 403 with the challenge %s goes to the model', async (challenge) => {
    answer = () => new Response('no', { status: 403, headers: { 'WWW-Authenticate': challenge } })
    await using ada = await client()
    expect(textOf(await ada.callTool('makeRepository'))).toBe('POST /user/repos: HTTP 403. no')
    expect(sent).toHaveLength(1)
  })
})
