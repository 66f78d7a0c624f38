import { env } from 'cloudflare:workers'
import { createServer, resourceLink, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: '{{name}}', version: '1.0.0' })

const report = server.resource(
  'report://{id}',
  { description: 'A report, as write_report returned it', mimeType: 'text/markdown' },
  async ({ id }) => (await env.RESULTS.get(id))?.text(),
)

server.tool(
  'write_report',
  {
    description: 'Writes a report about a topic. It runs for a while, and asks the user for the length of the report.',
    inputSchema: z.object({ topic: z.string().min(1).max(100) }),
    // The client receives a task at once, and asks for its result later. Clients without tasks wait for the result.
    task: { ttl: '7d', pollInterval: '2s', retries: 3 },
  },
  async ({ topic }, ctx) => {
    const sections: string[] = []
    for (const [index, source] of ['news', 'papers', 'books'].entries()) {
      ctx.progress(index, 4, `Reading ${source}`)
      // Each source is read once, also if the Durable Object restarts and the handler runs again.
      sections.push(await ctx.once(source, () => readSource(source, topic)))
      await ctx.sleep(`after ${source}`, '1s')
    }
    const answer = await ctx.elicit(
      'length',
      `There are ${sections.length} sections about ${topic}. How many may the report have?`,
      z.object({ sections: z.int().min(1).max(sections.length).default(sections.length) }),
    )
    if (answer.action !== 'accept') return 'No report was written.'
    const id = await ctx.once('id', () => crypto.randomUUID())
    const text = [`# ${topic}`, ...sections.slice(0, answer.content.sections)].join('\n\n')
    await ctx.once('write', async () => {
      await env.RESULTS.put(id, text)
    })
    return resourceLink(report.uri({ id }), { name: `${topic}.md`, mimeType: 'text/markdown' })
  },
)

/** Replace this with real work: requests, queries, models. */
async function readSource(source: string, topic: string): Promise<string> {
  return `## ${source}\n\nWhat the ${source} say about ${topic}.`
}

const worker = serve(server, { handlerErrors: 'generic', plugins: [sessions(), tasks()] })
export default worker
export const { McpSession, McpTask } = worker
