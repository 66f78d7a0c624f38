/** Servers that stand before others. */
import { env } from 'cloudflare:workers'
import { createServer, McpError, type Server, serve } from 'edgemcp'
import { combine, mount, proxy } from 'edgemcp/compose'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'

const { NEWER, OLDER, BARE, SILENT } = env as unknown as Record<'NEWER' | 'OLDER' | 'BARE' | 'SILENT', string>

const server = createServer({ name: 'gateway', version: '1.0.0' })
server.use(
  proxy(NEWER, {
    prefix: 'newer_',
    headers: ({ principal }): Record<string, string> => (principal ? { 'X-Name': principal.subject } : {}),
  }),
)
server.use(proxy(OLDER, { prefix: 'older_' }))
server.use(proxy('http://127.0.0.1:9/mcp', { prefix: 'nobody_', circuitBreaker: false }))

const worker = serve(server, {
  auth: {
    allowAnonymous: true,
    async authenticate(request) {
      const subject = request.headers.get('Authorization')?.replace('Bearer ', '')
      return subject ? { issuer: 'https://names.example', subject, scopes: [], claims: {} } : undefined
    },
  },
  plugins: [sessions()],
})

/** All of them answer, and some of what they have has the same name. */
const mixed = createServer({ name: 'mixed', version: '1.0.0' })
mixed.use(proxy(OLDER))
mixed.use(proxy(BARE))
mixed.use(proxy(NEWER))
mixed.tool('who', { description: 'Its own' }, () => 'mixed')
mixed.prompt('plain', { description: 'Its own' }, () => 'Mixed')
mixed.resource('about:upstream', { name: 'about', description: 'Its own' }, () => 'Mixed')
mixed.tool('long', { description: 'Takes its time', task: true }, () => 'Done')

/** The same, the other way round. */
const turned = createServer({ name: 'turned', version: '1.0.0' })
turned.use(proxy(NEWER))
turned.tool('long', { description: 'Takes its time', task: true }, () => 'Done')
turned.use(proxy(BARE))
turned.use(proxy(OLDER))

/** Only tools, all of them elsewhere. */
const bare = createServer({ name: 'bare', version: '1.0.0' })
bare.use(proxy(BARE))

/** A part that stands before another server. */
const outer = createServer({ name: 'outer', version: '1.0.0' })
const inner = createServer({ name: 'inner', version: '1.0.0' })
inner.use(proxy(NEWER, { prefix: 'newer_' }))
inner.intercept(async ({ method, params }, next) => {
  if (method !== 'tools/call' || params.name !== 'newer_echo') return next()
  const { text } = params.arguments as { text: string }
  if (text === 'forbidden') throw new McpError('forbidden', 'That must not be said')
  return next({ ...params, arguments: { text: `${text}, inner` } })
})
outer.use(mount(inner, { prefix: 'inner_' }))

/** Nobody behind it answers. */
const lonely = createServer({ name: 'lonely', version: '1.0.0' })
lonely.use(proxy('http://127.0.0.1:9/mcp', { circuitBreaker: false }))
lonely.use(proxy(SILENT, { prefix: 'silent_', timeout: '200ms' }))

const withTasks = (name: string, server: Server, task: string) =>
  serve(server, {
    path: `/${name}/mcp`,
    plugins: [tasks()],
    durableObjects: { names: { McpTask: task } },
  })
const mixedWorker = withTasks('mixed', mixed, 'MixedTask')
const turnedWorker = withTasks('turned', turned, 'TurnedTask')
const others = Object.entries({ bare, outer, lonely }).map(([name, each]) => serve(each, { path: `/${name}/mcp` }))

export default combine(worker, mixedWorker, turnedWorker, ...others)
export const { McpSession } = worker
export const { McpTask: MixedTask } = mixedWorker
export const { McpTask: TurnedTask } = turnedWorker
