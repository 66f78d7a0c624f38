/** Servers whose tools are declared after serve() was called. */
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { combine } from 'edgemcp/compose'
import { rateLimit } from 'edgemcp/rate-limit'
import { McpState } from 'edgemcp/state'

const verify = (sub: string) => ({ iss: 'https://issuer.example', sub })

const forgetful = createServer({ name: 'forgetful', version: '1.0.0' })
const strict = serve(forgetful, { path: '/strict/mcp', auth: bearer({ verify, requireScopesEverywhere: true }) })
forgetful.tool('scoped', { description: 'Says what it takes', scopes: [] }, () => 'done')
forgetful.tool('forgotten', { description: 'Says nothing' }, () => 'done')

const careful = createServer({ name: 'careful', version: '1.0.0' })
const complete = serve(careful, {
  path: '/complete/mcp',
  auth: bearer({ verify, requireScopesEverywhere: true }),
  plugins: [rateLimit()],
})
careful.tool('scoped', { description: 'Says what it takes', scopes: [], rateLimit: { quota: '1/h' } }, () => 'done')

export default combine(strict, complete, () => new Response(null, { status: 404 }))
export { McpState }
