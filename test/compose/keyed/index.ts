/** A gateway whose callers have keys of their own for the upstream. A POST to /key changes the key of a caller. */
import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { combine, proxy } from 'edgemcp/compose'

const { UPSTREAM } = env as unknown as Record<'UPSTREAM', string>

/** A token is a subject. */
const auth = bearer({ verify: (token) => ({ iss: 'https://names.example', sub: token }) })

const keys = new Map<string, string>()
const keyed = createServer({ name: 'keyed', version: '1.0.0' }).use(
  proxy(UPSTREAM, {
    timeout: 5_000,
    headers: (principal) => ({ 'X-Key': keys.get(principal?.subject ?? '') ?? 'none' }),
  }),
)
const worker = serve(keyed, { auth })

function changeKey(request: Request): Response | undefined {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== '/key') return undefined
  keys.set(searchParams.get('of') ?? '', searchParams.get('is') ?? '')
  return new Response()
}

export default combine(worker, changeKey as never)
export const { McpSession } = worker
