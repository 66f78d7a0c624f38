/** Calls whose answers need answers: one question, several at once, several in a row, and state that travels along. */
import type { Server } from 'edgemcp'
import * as z from 'zod'

const Name = z.object({ name: z.string() })
const Color = z.object({ color: z.string() })
const Confirmation = z.object({ ok: z.boolean() })
const Background = z.object({ context: z.string() })

export function inputRequired(server: Server): void {
  server.tool('test_input_required_result_elicitation', { description: 'Asks for a name' }, async (_, ctx) => {
    const { content } = await ctx.elicit('user_name', 'What is your name?', Name)
    return content ? `Hello, ${content.name}!` : 'Hello, stranger!'
  })

  server.tool('test_input_required_result_sampling', { description: 'Asks the model' }, async (_, ctx) => {
    const question = { prompt: 'What is the capital of France?', maxTokens: 100 }
    const answer = await ctx.sample('capital_question', question)
    return answer.text
  })

  server.tool('test_input_required_result_list_roots', { description: 'Asks for the roots' }, async (_, ctx) => {
    const roots = await ctx.roots('client_roots')
    return `The roots are: ${roots.map((root) => root.uri).join(', ')}`
  })

  server.tool(
    'test_input_required_result_request_state',
    { description: 'Passes state through the client' },
    async (_, ctx) => {
      const state = await ctx.once('state', () => 'state-ok')
      const { content } = await ctx.elicit('confirm', 'Please confirm.', Confirmation)
      return `${state}: ${content?.ok ? 'confirmed' : 'not confirmed'}`
    },
  )

  server.tool(
    'test_input_required_result_multiple_inputs',
    { description: 'Sends three kinds of input requests' },
    async (_, ctx) => {
      const [name, greeting, roots] = await Promise.all([
        ctx.elicit('user_name', 'What is your name?', Name),
        ctx.sample('greeting', { prompt: 'Write a greeting.', maxTokens: 50 }),
        ctx.roots('client_roots'),
      ])
      return `${greeting.text} ${name.content?.name ?? 'Stranger'}, you have ${roots.length} roots.`
    },
  )

  server.tool('test_input_required_result_multi_round', { description: 'Asks twice' }, async (_, ctx) => {
    const name = await ctx.elicit('step1', 'What is your name?', Name)
    const color = await ctx.elicit('step2', 'What is your favorite color?', Color)
    return `${name.content?.name ?? 'Somebody'} likes ${color.content?.color ?? 'no color'}.`
  })

  server.tool(
    'test_input_required_result_tampered_state',
    { description: 'Rejects state that was changed' },
    async (_, ctx) => {
      const { content } = await ctx.elicit('confirm', 'Please confirm.', Confirmation)
      return content?.ok ? 'Confirmed' : 'Not confirmed'
    },
  )

  server.tool(
    'test_input_required_result_capabilities',
    { description: 'Requests only input that the client supports' },
    async (_, ctx) => {
      const answers = await Promise.all([
        ctx.supports('elicitation') && ctx.elicit('user_name', 'What is your name?', Name),
        ctx.supports('sampling') && ctx.sample('greeting', { prompt: 'Write a greeting.', maxTokens: 50 }),
        ctx.supports('roots') && ctx.roots('client_roots'),
      ])
      return `${answers.filter(Boolean).length} answers`
    },
  )

  server.prompt(
    'test_input_required_result_prompt',
    { description: 'Asks for the context of the prompt' },
    async (_, ctx) => {
      const { content } = await ctx.elicit('user_context', 'What context should the prompt use?', Background)
      return `Keep this in mind: ${content?.context ?? 'nothing'}`
    },
  )
}
