/** Two servers of one Worker, with keys and objects of their own. */
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const declared = (name: string) => {
  const server = createServer({ name, version: '1.0.0' })
  server.tool('name', { description: 'Which server this is' }, () => name)
  server.tool(
    'learn',
    { description: 'Declares another tool', inputSchema: z.object({ tool: z.string() }) },
    ({ tool }) => {
      server.tool(tool, { description: 'Was learned' }, () => tool)
    },
  )
  return server
}

const one = serve(declared('one'), { plugins: [sessions()] })
const other = serve(declared('other'), {
  path: '/other/mcp',
  durableObjects: { names: { McpSession: 'OtherSession' } },
  plugins: [sessions()],
})

export default {
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const isOther = new URL(request.url).pathname.startsWith('/other/')
    return (isOther ? other : one).fetch(request, env, ctx)
  },
}
export const { McpSession } = one
export const { McpSession: OtherSession } = other
