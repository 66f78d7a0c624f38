/** Rules that several directories have. */
import { serverRule } from './directory.ts'

export const endpointUrl = serverRule('endpoint-url', 'error', ({ url }) => {
  if (url !== undefined && URL.parse(url.replaceAll(/[{}]/g, ''))?.protocol === 'https:') return undefined
  return {
    problem:
      url === undefined
        ? 'Nothing says at which URL clients reach the server.'
        : `The URL ${url} does not begin with https://.`,
    fix: "Set origin: 'https://mcp.example.com' in discovery(), add a route to the configuration, or pass --url https://mcp.example.com/mcp.",
  }
})

export const tokenInUrl = serverRule('token-in-url', 'error', ({ url }) => {
  const names = [...(URL.parse(url ?? '')?.searchParams.keys() ?? [])]
  const secret = names.find((name) => /token|secret|password|api_?key|^key$/i.test(name))
  if (secret === undefined) return undefined
  return {
    problem: `The URL of the server has a credential in "${secret}": everyone who sees the listing has it.`,
    fix: 'Authenticate users with OAuth: signIn() or bearer().',
  }
})
