import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'

const server = createServer({ name: 'notes', version: '1.0.0' })

server.tool('whoami', { description: 'Returns the login of the user', scopes: ['notes:read'] }, (_, { principal }) => {
  return String(principal?.claims.preferred_username)
})

const worker = serve(server, {
  auth: signIn({ with: github({ clientId: env.GITHUB_ID, clientSecret: env.GITHUB_SECRET }) }),
  plugins: [sessions()],
})
export default worker
export const { McpSession, McpSignIn } = worker
