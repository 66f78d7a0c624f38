/** `examples/github`: published clients sign in with the stand-in for GitHub, and call its API as the user. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { start } from '../../examples/github/auth-server/start.ts'
import { connect } from '../../worker/testing/index.ts'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { signInAs } from './tokens.ts'

let gitHub: Awaited<ReturnType<typeof start>>
let server: TestServer
beforeAll(async () => {
  gitHub = await start(0)
  server = await startServer('examples/github', gitHub.variables)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.stop()
})

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

test('calls the API as the user, and asks the user for a scope when it is needed first', async () => {
  const browser = new Browser({ login: 'ada' })
  const { access_token: token } = await signInAs(server.url, browser, 'github:read github:write')
  const opened: string[] = []
  await using client = await connect(server.url, {
    revision: '2026-07-28',
    token,
    capabilities: { elicitation: { url: {} } },
    answers: {
      elicit: async ({ url }) => {
        opened.push(await browser.connect(new URL(String(url))))
        return { action: 'accept' }
      },
    },
  })
  expect(textOf(await client.callTool('whoami'))).toBe('Ada Lovelace (ada)')
  expect(textOf(await client.callTool('list_repositories'))).toBe('ada/notes\nada/engine')
  const issue = textOf(await client.callTool('create_issue', { repository: 'ada/notes', title: 'A bug' }))
  expect(issue).toBe(`${gitHub.variables.GITHUB_URL}/ada/notes/issues/1`)
  expect(opened).toEqual([expect.stringContaining('GitHub is connected')])
})
