import { createServer, serve } from 'edgemcp'
import { page } from 'edgemcp/page'
import { sessions } from 'edgemcp/sessions'
import { type Store, state } from 'edgemcp/state'
import { subscriptions } from 'edgemcp/subscriptions'
import { tasks } from 'edgemcp/tasks'
import * as z from 'zod'

const server = createServer({ name: 'report', title: 'Reports', version: '1.0.0' })

const week = 7 * 24 * 60 * 60_000
const chapters = ['Where it comes from', 'How it is made', 'Who buys it', 'What it costs', 'What is next']

const reports = state('reports', { per: 'handle', ttl: week }, (store: Store<Record<string, string>>) => ({
  save: (text: string) => store.put('text', text),
  text: () => store.get('text'),
}))

const file = server.resource(
  'report://{id}',
  { name: 'report', description: 'A report, as write_report returned it', mimeType: 'text/markdown' },
  async ({ id }, ctx) => (await ctx.state(reports, id).text()) ?? '',
)

server.tool(
  'write_report',
  {
    description: 'Writes a report. It runs for a while, and asks the user for the length of the report.',
    inputSchema: z.object({ topic: z.string().min(1).max(100) }),
    // Looked at often, because it does not take long. Real work may take days.
    task: { ttl: '1d', pollInterval: '500ms' },
  },
  async ({ topic }, ctx) => {
    const found: string[] = []
    for (const [index, chapter] of chapters.entries()) {
      ctx.progress(index, chapters.length, `Collecting: ${chapter}`)
      await ctx.sleep(`before ${chapter}`, '500ms')
      found.push(await ctx.once(chapter, () => collect(topic, chapter)))
    }
    const answer = await ctx.elicit(
      'length',
      `There is material about ${topic} for ${chapters.length} chapters. How many may the report have?`,
      z.object({ chapters: z.int().min(1).max(chapters.length).default(chapters.length) }),
    )
    if (!answer.content) return 'No report was written.'
    ctx.progress(chapters.length, chapters.length, 'Writing')
    const text = [`# ${topic}`, ...found.slice(0, answer.content.chapters)].join('\n\n')
    const id = await ctx.once('file', async () => {
      const handle = await ctx.createHandle(reports)
      await ctx.state(reports, handle).save(text)
      return handle
    })
    return [
      { type: 'text', text: `The report about ${topic} has ${answer.content.chapters} chapters.` },
      { type: 'resource_link', uri: file.uri({ id }), name: `${topic}.md`, mimeType: 'text/markdown' },
    ]
  },
)

/** Stands for what takes long: searches, models, other people. */
async function collect(topic: string, chapter: string): Promise<string> {
  return `## ${chapter}\n\nWhat there is to know about ${topic}.`
}

const worker = serve(server, { plugins: [sessions(), page(), subscriptions(), tasks()] })
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
export { McpState } from 'edgemcp/state'
