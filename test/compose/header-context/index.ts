/** A gateway, and a server of an API, whose headers depend on the request context and on state. */
import { env } from 'cloudflare:workers'
import { createServer, type Secret, secret, serve } from 'edgemcp'
import { combine, type HeadersContext, proxy } from 'edgemcp/compose'
import { jsonSchema } from 'edgemcp/json-schema'
import { openApiTools } from 'edgemcp/openapi'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'

const { UPSTREAM, API } = env as unknown as Record<'UPSTREAM' | 'API', string>

const visits = state('visits', { per: 'user', ttl: '1h' }, (store: Store<Record<string, number>>) => ({
  count(): number {
    store.put('count', (store.get('count') ?? 0) + 1)
    return store.get('count') ?? 0
  },
}))

declare module 'edgemcp' {
  interface RequestContext {
    readonly upstreamKey?: Secret<string>
  }
}

const headers = async ({ principal, requestContext, client, signal }: HeadersContext) => ({
  'X-Key': requestContext.upstreamKey?.reveal() ?? 'none',
  'X-User': principal?.subject ?? 'nobody',
  'X-Client': client?.name ?? 'unknown',
  'X-Signal': String(signal instanceof AbortSignal),
})

const auth = {
  allowAnonymous: true,
  async authenticate(request: Request) {
    const subject = request.headers.get('Authorization')?.replace('Bearer ', '')
    return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
  },
}
const requestContext = (request: Request) => ({ upstreamKey: secret(`key of ${request.headers.get('Authorization')}`) })

const proxying = createServer({ name: 'proxying', version: '1.0.0' })
proxying.use(proxy(UPSTREAM, { headers }))

const calling = createServer({ name: 'calling', version: '1.0.0', jsonSchema })
const operation = { name: 'echo', description: 'd', method: 'GET', path: '/echo', parameters: {}, hasBody: false }
const list = [{ ...operation, input: { type: 'object' }, annotations: {} }]
const withVisits = async (caller: HeadersContext) => ({
  ...(await headers(caller)),
  'X-Visits': String(await caller.state(visits).count()),
})
calling.use(openApiTools(list, { baseUrl: API, headers: withVisits }))

const worker = serve(proxying, { auth, requestContext, plugins: [sessions()] })
const names = { McpSession: 'CallingSession' }
const callingWorker = serve(calling, {
  auth,
  requestContext,
  path: '/calling/mcp',
  durableObjects: { names },
  plugins: [sessions()],
})
export default combine(worker, callingWorker)
export const { McpSession } = worker
export const { McpSession: CallingSession } = callingWorker
export { McpState } from 'edgemcp/state'
