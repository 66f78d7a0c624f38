// biome-ignore lint/style/noRestrictedImports: it runs in Node.js, where the name of the package is what was built last
import { startProvider } from '../../../worker/testing/node/provider.ts'

/** The stand-in for GitHub, on the port after that of the MCP server. `scripts/start.ts` calls it. */
export async function start(port: number) {
  const users = [
    { id: 1815, login: 'ada', name: 'Ada Lovelace' },
    { id: 1906, login: 'grace', name: 'Grace Hopper' },
  ]
  const provider = await startProvider({ users, port: port === 0 ? 0 : port + 1 })
  const { url, clientId, clientSecret } = provider
  const repositories = ['ada/notes', 'ada/engine']
  provider.answers.set('/api/v3/user/repos', () => Response.json(repositories.map((full_name) => ({ full_name }))))
  for (const name of repositories) {
    let issues = 0
    provider.answers.set(`/api/v3/repos/${name}/issues`, () => {
      issues += 1
      return Response.json({ html_url: `${url}/${name}/issues/${issues}` }, { status: 201 })
    })
  }
  return {
    announcement: `stand-in for GitHub on ${url}`,
    variables: { GITHUB_URL: url, GITHUB_API: `${url}/api/v3`, GITHUB_ID: clientId, GITHUB_SECRET: clientSecret },
    stop: () => provider.close(),
  }
}
