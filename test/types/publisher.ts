/** The entrypoint by which other Workers announce changes, as `wrangler types` describes a binding to it. */
import { createServer, type Updates } from 'edgemcp'
import { publishEntrypoint } from 'edgemcp/subscriptions'

const McpPublisher = publishEntrypoint(createServer({ name: 'n', version: '1' }))

export async function announce(env: { NOTES: Service<typeof McpPublisher>; PLAIN: Updates }) {
  await env.NOTES.resource('note://1')
  await env.NOTES.tools({ issuer: 'https://auth.example', tenant: 'acme' })
  await env.PLAIN.resources()
  // @ts-expect-error a tenant needs its issuer
  await env.NOTES.tools({ tenant: 'acme' })
  // @ts-expect-error a list has no name
  await env.NOTES.tools('shout')
}
