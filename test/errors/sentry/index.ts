/** A server that sends what handlers throw to Sentry. The address of Sentry is a secret, because its port is not known before the tests run. */
import { env } from 'cloudflare:workers'
import * as Sentry from '@sentry/cloudflare'
import { createServer, McpError, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'sentry', version: '1.0.0' })

function breakIt(): never {
  throw new RangeError('It broke', { cause: new Error('the reason') })
}
server.tool('fails', { description: 'Fails', task: true }, () => breakIt())
server.tool('refuses', { description: 'Refuses' }, () => {
  throw new McpError('invalid_params', 'Not so')
})
server.prompt('fails', { description: 'Fails' }, () => breakIt())
const argsSchema = z.object({ topic: z.string() })
server.prompt('incomplete', { description: 'Fails', argsSchema, complete: { topic: breakIt } }, () => '')
server.resource('fails://{id}', { description: 'Fails', list: breakIt }, () => '')

const worker = serve(server, {
  handlerErrors: 'generic',
  onError(error, { method, params, protocolVersion, errorId }) {
    const entry = String(params.name ?? params.uri ?? JSON.stringify(params.ref) ?? method)
    Sentry.captureException(error, { tags: { method, entry, protocolVersion, errorId } })
  },
  durableObjects: { names: { McpSession: 'SentrySession', McpTask: 'SentryTask' } },
  plugins: [sessions(), tasks()],
})

const { SENTRY_DSN } = env as unknown as { SENTRY_DSN: string } // a secret
const options = () => ({ dsn: SENTRY_DSN })
export default Sentry.withSentry(options, { fetch: (request, env, ctx) => worker.fetch(request, env, ctx) })
export const SentrySession = Sentry.instrumentDurableObjectWithSentry(options, worker.McpSession)
export const SentryTask = Sentry.instrumentDurableObjectWithSentry(options, worker.McpTask)
