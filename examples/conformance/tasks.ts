import { McpError, type Module } from 'edgemcp'

const nothing = { type: 'object', properties: {} } as const
const confirmed = { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] } as const
const named = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const

export const tasks: Module = (server) => {
  server.tool('greet', { description: 'Greets immediately', inputSchema: named }, ({ name }) => `Hello, ${name}!`)

  server.tool(
    'slow_compute',
    {
      description: 'Runs for some seconds',
      inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
      task: true,
    },
    async ({ seconds = 0, label = 'it' }, ctx) => {
      await ctx.sleep('work', seconds * 1000)
      return `Computed ${label} in ${seconds} s`
    },
  )

  server.tool(
    'failing_job',
    { description: 'Fails after a second', inputSchema: nothing, task: { required: true } },
    async (_, ctx) => {
      await ctx.sleep('work', '1s')
      throw new Error('The job failed')
    },
  )

  server.tool('protocol_error_job', { description: 'Ends with a protocol error', task: true }, () => {
    throw new McpError('internal_error', 'The job failed with a protocol error')
  })

  server.tool(
    'confirm_delete',
    {
      description: 'Asks before it does anything',
      inputSchema: { type: 'object', properties: { filename: { type: 'string' } } },
      task: true,
    },
    async ({ filename = 'it' }, ctx) => {
      const answer = await ctx.elicit('confirm', `Delete ${filename}?`, confirmed)
      return answer.action === 'accept' && answer.content.confirm ? `Deleted ${filename}` : `Kept ${filename}`
    },
  )

  server.tool('multi_input', { description: 'Asks two things at once', task: true }, async (_, ctx) => {
    const answers = await Promise.all([
      ctx.elicit('first', 'What is the first name?', named),
      ctx.elicit('second', 'What is the second name?', named),
    ])
    return answers.map((answer) => (answer.action === 'accept' ? answer.content.name : 'nobody')).join(' and ')
  })

  server.tool(
    'test_tool_with_task',
    { description: 'Asks at once, and then takes its time', task: { required: true, answerWithin: '200ms' } },
    async (_, ctx) => {
      const answer = await ctx.elicit('user_name', 'What is your name?', named)
      await ctx.sleep('work', '1s')
      return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello!'
    },
  )
}
