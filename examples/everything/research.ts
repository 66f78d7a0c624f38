/** A task: it reports stages, asks what an ambiguous topic means, and returns a report. */
import type { Context, Server } from 'edgemcp'
import * as z from 'zod'

const stages = ['Gathering sources', 'Analyzing content', 'Synthesizing findings', 'Generating report']

const clarification = {
  type: 'object',
  properties: {
    interpretation: {
      type: 'string',
      title: 'Clarification',
      description: 'What you mean by the topic',
      oneOf: [
        { const: 'technical', title: 'Technical/scientific perspective' },
        { const: 'historical', title: 'Historical perspective' },
        { const: 'current', title: 'Current events/news perspective' },
      ],
    },
  },
  required: ['interpretation'],
} as const

export function research(server: Server): void {
  server.tool(
    'simulate-research-query',
    {
      title: 'Simulate Research Query',
      description: 'Simulates research in four stages, as a task. An ambiguous topic makes it ask the user.',
      inputSchema: z.object({
        topic: z.string().describe('The topic'),
        ambiguous: z.boolean().default(false).describe('Asks the user what the topic means'),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      task: { required: true, ttl: '5m', pollInterval: '1s' },
    },
    async ({ topic, ambiguous }, ctx) => {
      let interpretation: string | undefined
      for (const [index, stage] of stages.entries()) {
        ctx.progress(index, stages.length, `${stage}...`)
        await ctx.sleep(stage, '1s')
        if (index === 2 && ambiguous && ctx.supports('elicitation')) interpretation = await clarify(topic, ctx)
      }
      return report(topic, interpretation)
    },
  )
}

async function clarify(topic: string, ctx: Context): Promise<string> {
  const answer = await ctx.elicit(
    'interpretation',
    `The research query "${topic}" could have multiple interpretations. Please clarify what you're looking for:`,
    clarification,
  )
  return answer.action === 'accept' ? answer.content.interpretation : 'User declined - using default interpretation'
}

const report = (topic: string, interpretation: string | undefined): string =>
  [
    `# Research Report: ${topic}${interpretation ? ` (${interpretation})` : ''}`,
    `## Research Parameters\n- **Topic**: ${topic}${interpretation ? `\n- **Clarification**: ${interpretation}` : ''}`,
    `## Synthesis\nThe query went through ${stages.length} stages:\n${stages.map(done).join('\n')}`,
    '---',
    `## About this report\nNothing was researched. A task of edgemcp slept one second per stage, and each stage set its status message.${interpretation ? ' Before the third stage ended, the task waited for input.' : ''}`,
  ].join('\n\n')

const done = (stage: string, index: number): string => `- Stage ${index + 1}: ${stage} ✓`
