/** Two servers for tests of the page, without Durable Objects: one whose every text would like to be markup, and one behind auth. */
import { createServer, McpError, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { page } from 'edgemcp/page'

const open = createServer({
  jsonSchema,
  name: `<b>odd</b> & 'name'; touch "$HOME"`,
  title: '</title><script>alert("title")</script>',
  version: '"><svg onload=alert(1)>',
  description: `<img src=x onerror=alert('description')>`,
  instructions: '</style><style>*{display:none}</style>\nSecond line &amp; third',
})

open.tool(
  'wipe',
  {
    title: '<h1>Wipe</h1>',
    description: '</li></ul><a href="javascript:alert(1)">click</a>',
    inputSchema: {
      type: 'object',
      properties: { '<i>what': { type: 'string' }, '"why"': { type: 'string' } },
      required: ['<i>what'],
    },
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  () => 'wiped',
)

open.tool(
  'look',
  { description: 'Looks', annotations: { readOnlyHint: true, destructiveHint: true, idempotentHint: true } },
  () => 'looked',
)

open.tool('members_tool', { description: 'Members', visibleTo: ({ principal }) => principal !== undefined }, () => '')
const fail = () => {
  throw new Error('Has no caller')
}
open.tool('broken_tool', { description: 'Broken', visibleTo: fail }, () => '')
open.prompt(
  'members_prompt',
  { description: 'Members', visibleTo: ({ principal }) => principal !== undefined },
  () => '',
)
open.resource(
  'members://only',
  { description: 'Members', visibleTo: ({ principal }) => principal !== undefined },
  () => '',
)
open.resource(
  'members://{id}',
  { description: 'Members', visibleTo: ({ principal }) => principal !== undefined },
  () => '',
)

open.resource(
  'odd://"><script>alert(2)</script>',
  { name: '<u>name', description: '<!--', mimeType: 'text/<html>' },
  () => '',
)

open.resource(
  'odd://{id}',
  { description: 'Lists itself', list: () => [{ id: 'private', name: 'a private entry' }] },
  () => '',
)

open.prompt(
  '<b>prompt',
  {
    description: '<textarea>',
    argsSchema: { type: 'object', properties: { '</code>': { type: 'string' } }, required: ['</code>'] },
  },
  () => '',
)

const closed = createServer({
  jsonSchema,
  name: 'closed',
  title: 'Closed',
  version: '7.6.5',
  description: 'For members',
  instructions: 'Hidden instructions',
})
closed.tool('hidden_tool', { description: 'Hidden tool' }, () => 'hidden')
closed.resource('hidden://resource', { description: 'Hidden resource' }, () => 'hidden')
closed.resource('hidden://{template}', { description: 'Hidden template' }, () => 'hidden')
closed.prompt('hidden_prompt', { description: 'Hidden prompt' }, () => 'hidden')

const member = { issuer: 'https://auth.example.com', subject: 'member', scopes: [], claims: {} }

const workers = {
  open: serve(open, { plugins: [page()] }),
  closed: serve(closed, {
    auth: {
      async authenticate(request) {
        if (request.headers.get('Authorization') === 'Bearer good') return member
        throw new McpError('unauthorized', 'Members only')
      },
    },
    plugins: [page()],
  }),
}

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { hostname } = new URL(request.url)
    return workers[hostname === 'closed.localhost' ? 'closed' : 'open'].fetch(request, env, ctx)
  },
}
