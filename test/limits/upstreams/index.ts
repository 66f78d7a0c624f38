/** A gateway to two upstreams whose tools may have the same names. A token is a subject, and the scopes that it has: `ada+free`. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { proxy } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'

const { UPSTREAM } = env as unknown as Record<'UPSTREAM', string>

const server = createServer({ name: 'upstreams', version: '1.0.0' })
const forAda = ({ principal }: { principal?: { subject?: string } | undefined }) =>
  principal?.subject?.startsWith('ada') === true
const quota = (text: string) => ({ rateLimit: { quota: text } })
server.use(
  proxy(UPSTREAM, {
    scopes: ['premium'],
    tools: {
      strict: quota('1/d'),
      loose: quota('1000/d'),
      hidden: { visibleTo: forAda, scopes: [], ...quota('1/d') },
      rated: { rateLimit: { rate: '4/m' } },
    },
  }),
)
server.use(
  proxy(UPSTREAM, {
    scopes: ['free'],
    tools: {
      strict: quota('3/d'),
      loose: quota('2/d'),
      hidden: quota('2/d'),
      rated: { rateLimit: { rate: '4/m' } },
    },
  }),
)
const shared = quota('1/d')
server.use(proxy(UPSTREAM, { prefix: 'other_', scopes: [], tools: { loose: shared, strict: shared } }))

const auth = bearer({
  requireScopesEverywhere: true,
  verify: (token) => {
    const [sub = '', ...scopes] = token.split('+')
    return { iss: 'https://names.example', sub, scope: scopes.join(' ') }
  },
})
const worker = serve(server, { auth, plugins: [sessions(), rateLimit()] })
export default worker
export const { McpSession } = worker
export { McpState } from 'edgemcp/state'
