/** Types of plugins: what the compiler accepts, and what it knows of the result. */
import { createServer, type DurableObjectClass, type Plugin, serve } from 'edgemcp'
import { type AuditEvent, audit } from 'edgemcp/audit'
import { bearer, forTenant, oneOf } from 'edgemcp/auth'
import { type MethodEvent, observe } from 'edgemcp/observe'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { github, type SignInClass, signIn } from 'edgemcp/sign-in'
import { tasks } from 'edgemcp/tasks'

const server = createServer({ name: 'types', version: '1.0.0' })

/** A plugin that is written where it is used. */
const inline = serve(server, {
  plugins: [
    sessions(),
    rateLimit(),
    {
      name: 'inline',
      validate({ declarations }) {
        if (declarations.tools.size === 0) throw new Error('There are no tools')
      },
      interceptor: () => (call, next) => next({ ...call.params }),
      onResponse({ request }) {
        request.headers.get('Accept')
      },
      routes: () => [{ path: '/health', methods: ['GET'], handle: () => new Response('up') }],
    },
  ],
})
inline.McpSession satisfies DurableObjectClass

const named: Plugin = { name: 'named', interceptor: () => (_, next) => next() }
const withTasks = serve(server, { plugins: [sessions(), named, tasks()] })
new withTasks.McpTask({} as never, {} as never).alarm()
// @ts-expect-error no plugin has this class
withTasks.McpOther
// @ts-expect-error there are no plugins
serve(server, { plugins: [sessions()] }).McpTask

// @ts-expect-error a function that returns a plugin is none
serve(server, { plugins: [sessions(), tasks] })

declare const counting: Plugin<{ Counts: DurableObjectClass }>
const counted = serve(server, { plugins: [sessions(), counting] })
counted.Counts satisfies DurableObjectClass
// @ts-expect-error a plugin has a name
serve(server, { plugins: [sessions(), { interceptor: () => (_, next) => next() }] })

/** Sinks and hooks may return a value, as short arrow functions do. */
const events: (MethodEvent | AuditEvent)[] = []
const clients: unknown[] = []
serve(server, {
  plugins: [
    sessions(),
    observe({ sinks: [(event) => events.push(event), async (event) => events.push(event), () => {}] }),
    audit({ sinks: [(event) => events.push(event), async (event) => events.push(event), () => {}] }),
    {
      name: 'hooks',
      onInitialize: (event) => clients.push(event),
      onSubscribe: async (event) => clients.push(event),
      onUnsubscribe: (event) => clients.push(event),
      onSessionEnd: async (event) => clients.push(event),
    },
  ],
})

const users = signIn({ with: github({ clientId: 'a', clientSecret: 'b' }) })
const tokens = bearer({ issuer: 'https://auth.example.com' })
serve(server, { auth: forTenant('acme', users), plugins: [sessions()] }).McpSignIn satisfies SignInClass
serve(server, { auth: oneOf(forTenant('acme', users), tokens), plugins: [sessions()] }).McpSignIn satisfies SignInClass
serve(server, { auth: forTenant('acme', oneOf(tokens, users)), plugins: [sessions()] }).McpSignIn satisfies SignInClass
// @ts-expect-error the auth has no plugins
serve(server, { auth: forTenant('acme', tokens), plugins: [sessions()] }).McpSignIn
