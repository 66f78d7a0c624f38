import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'bookmarks', version: '1.0.0' })

const Bookmark = z.object({ url: z.url(), title: z.string() })

server.tool(
  'add_bookmark',
  { description: 'Stores a bookmark', inputSchema: Bookmark, annotations: { idempotentHint: true } },
  async ({ url, title }) => {
    await env.DB.prepare('INSERT OR REPLACE INTO bookmarks (url, title) VALUES (?, ?)').bind(url, title).run()
    return `Stored ${url}.`
  },
)

server.tool(
  'search_bookmarks',
  {
    description: 'Finds bookmarks by words of their titles',
    inputSchema: z.object({ query: z.string() }),
    outputSchema: z.object({ bookmarks: z.array(Bookmark) }),
    annotations: { readOnlyHint: true },
  },
  async ({ query }) => {
    const statement = env.DB.prepare('SELECT * FROM bookmarks WHERE instr(lower(title), lower(?)) LIMIT 20')
    const { results } = await statement.bind(query).all<z.infer<typeof Bookmark>>()
    return { bookmarks: results }
  },
)

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
