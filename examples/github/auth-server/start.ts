import { GitHub } from './github.ts'

/** The stand-in for GitHub, on the port after that of the MCP server. `scripts/start.ts` calls it. */
export async function start(port: number) {
  const gitHub = await GitHub.start(port === 0 ? 0 : port + 1)
  gitHub.asks = true
  return {
    announcement: `stand-in for GitHub on ${gitHub.url}`,
    variables: { GITHUB_URL: gitHub.url, GITHUB_API: `${gitHub.url}/api/v3`, GITHUB_ID: 'edge', GITHUB_SECRET: 'hush' },
    stop: async () => gitHub[Symbol.asyncDispose](),
  }
}
