/** A gateway that selects and changes the tools of an upstream. A token is a subject, and the scopes that it has: `ada+read+write`. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { proxy } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'

const { UPSTREAM } = env as unknown as Record<'UPSTREAM', string>

const server = createServer({ name: 'selecting', version: '1.0.0' })
server.use(
  proxy(UPSTREAM, {
    prefix: 'up_',
    scopes: ['read'],
    exclude: ['admin_*'],
    tools: {
      search: {
        name: 'find',
        title: 'Find',
        description: 'Finds what you need',
        outputSchema: false,
        annotations: { readOnlyHint: true },
      },
      remove: { scopes: ['write'] },
      limited: { rateLimit: { quota: '2/d' } },
      hidden: { visibleTo: ({ principal }) => principal?.subject === 'ada' },
      concealed: { visibleTo: () => false, scopes: ['top'] },
      missing: { description: 'The upstream has no such tool' },
    },
  }),
)
server.intercept((call, next) => next({ ...call.params }))

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
