/** A gateway whose callers have keys of their own for the upstream. A POST to /key changes the key of a caller. */
import { env } from 'cloudflare:workers'
import { createServer, McpError, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { combine, type HeadersContext, proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'

const { UPSTREAM, KEYS } = env as unknown as { UPSTREAM: string; KEYS: KVNamespace }

/** A token is a subject. */
const auth = bearer({ verify: (token) => ({ iss: 'https://names.example', sub: token }) })

const keys = new Map<string, string>()
const keyed = createServer({ name: 'keyed', version: '1.0.0' }).use(
  proxy(UPSTREAM, {
    timeout: 5_000,
    headers: ({ principal }) => ({ 'X-Key': keys.get(principal?.subject ?? '') ?? 'none' }),
  }),
)
const worker = serve(keyed, { auth, plugins: [sessions()] })

/** Two proxies: `headers` of the first throws. */
const failing = createServer({ name: 'failing', version: '1.0.0' })
failing.tool('own', { description: 'Says hello' }, () => 'Hello!')
failing.use(
  proxy(UPSTREAM, {
    prefix: 'broken_',
    headers: () => {
      throw new Error('no key is configured')
    },
  }),
)
failing.use(proxy(UPSTREAM, { prefix: 'good_' }))

/** Keys in a KV namespace. */
const stored = createServer({ name: 'stored', version: '1.0.0' })
stored.tool('own', { description: 'Says hello' }, () => 'Hello!')
stored.use(proxy(UPSTREAM, { timeout: 5_000, listTimeout: 500, headers: storedHeaders }))

async function storedHeaders({ principal }: HeadersContext): Promise<Record<string, string>> {
  const name = principal?.subject ?? ''
  if (name === 'slow') await new Promise(() => {})
  const key = await KEYS.get(name)
  if (key === null) throw new McpError('forbidden', 'You have no key for this server: add one in your settings')
  return { 'X-Key': key }
}

const others = Object.entries({ failing, stored }).map(([name, server]) =>
  serve(server, { auth, path: `/${name}/mcp` }),
)

async function changeKey(request: Request): Promise<Response | undefined> {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== '/key') return undefined
  const [name = '', key = ''] = [searchParams.get('of') ?? '', searchParams.get('is') ?? '']
  keys.set(name, key)
  await KEYS.put(name, key)
  return new Response()
}

export default combine(worker, ...others, changeKey as never)
export const { McpSession } = worker
