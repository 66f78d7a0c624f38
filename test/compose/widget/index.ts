/** An upstream with an app and a skill whose URIs other upstreams have, too. */
import { env } from 'cloudflare:workers'
import { createServer, resourceLink, serve } from 'edgemcp'
import { app } from 'edgemcp/apps'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const { NAME } = env as unknown as Record<'NAME', string>

const server = createServer({ name: 'widget', version: '1.0.0' })
const widget = app('ui://widget/main.html', { description: 'Draws', html: `<p>${NAME}</p>` })
server.use(widget)
server.tool('draw', { description: 'Draws', _meta: widget.toolMeta() }, () => [
  resourceLink('ui://widget/main.html', { name: 'widget' }),
  { type: 'resource', resource: { uri: 'skill://use/SKILL.md', text: `Use ${NAME}` } },
  { type: 'resource', resource: { uri: 'note://1', text: 'A note' } },
])
server.resource('skill://use/SKILL.md', { name: 'use', description: 'How to use it' }, () => `Use ${NAME}`)
server.resource(
  'ui://theme/{name}',
  { name: 'theme', description: 'A theme', complete: { name: () => [`${NAME}-dark`] } },
  ({ name }) => `${NAME} ${name}`,
)
server.prompt('plan', { description: 'Plans', argsSchema: z.object({}) }, () => [
  { role: 'user', content: { type: 'resource', resource: { uri: 'ui://widget/main.html', text: NAME } } },
])

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
