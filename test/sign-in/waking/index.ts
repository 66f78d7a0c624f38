/** Tasks that use the API of a provider before and after they sleep, with a clock that a test can advance. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { github, signIn } from 'edgemcp/sign-in'
import { tasks } from 'edgemcp/tasks'
import { withTestClock } from 'edgemcp/testing/timed'

const { GITHUB } = env as unknown as { GITHUB: string }

const server = createServer({ name: 'notes', version: '1.0.0' })
server.tool('nightly', { description: 'Works before and after a night', scopes: [], task: true }, async (_, ctx) => {
  const before = await ctx.once('before', () => ctx.upstream('github'))
  ctx.progress(1, 2, 'asleep')
  await ctx.sleep('night', '12h')
  const after = await Promise.all([ctx.upstream('github'), ctx.upstream('github')])
  return JSON.stringify({ before, after })
})

const worker = serve(server, {
  auth: signIn({ with: github({ clientId: 'edge', clientSecret: 'hush', url: GITHUB }), accessTokenTtl: '3m' }),
  plugins: [sessions(), tasks()],
})
const timed = withTestClock({ default: worker, ...worker })
export default timed.default
export const { McpSession, McpSignIn, McpTask } = timed
