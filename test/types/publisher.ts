/** The entrypoint by which other Workers announce changes, as `wrangler types` describes a binding to it. */
import { type ChangeNotifier, createServer } from 'edgemcp'
import { publishEntrypoint } from 'edgemcp/subscriptions'

const McpPublisher = publishEntrypoint(createServer({ name: 'n', version: '1' }))

export async function announce(env: { NOTES: Service<typeof McpPublisher>; PLAIN: ChangeNotifier }) {
  await env.NOTES.resourceUpdated('note://1')
  await env.NOTES.toolsChanged({ issuer: 'https://auth.example', tenant: 'acme' })
  await env.PLAIN.resourcesChanged()
  // @ts-expect-error nobody is not everyone
  await env.NOTES.resourceUpdated('note://1', undefined)
  // @ts-expect-error a tenant needs its issuer
  await env.NOTES.toolsChanged({ tenant: 'acme' })
  // @ts-expect-error a list has no name
  await env.NOTES.toolsChanged('shout')
}
