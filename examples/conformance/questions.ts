/** Tools that ask one question: a client with a session is asked on its stream, a stateless one in the answer. */
import type { Server } from 'edgemcp'
import * as z from 'zod'

export function questions(server: Server): void {
  server.tool(
    'test_sampling',
    { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, ctx) => {
      const answer = await ctx.sample('completion', { prompt, maxTokens: 100 })
      return `LLM response: ${answer.text}`
    },
  )

  server.tool(
    'test_elicitation',
    { description: 'Asks for a user name', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, ctx) => {
      const { action, content } = await ctx.elicit('person', message, Person)
      return `User response: action=${action}, content=${JSON.stringify(content ?? {})}`
    },
  )

  server.tool('test_elicitation_sep1034_defaults', { description: 'Asks with default values' }, async (_, ctx) => {
    const { action, content } = await ctx.elicit('profile', 'Is this you?', Profile)
    return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`
  })

  server.tool('test_elicitation_sep1330_enums', { description: 'Asks with every kind of choice' }, async (_, ctx) => {
    const { action, content } = await ctx.elicit('choices', 'Choose', choices)
    return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`
  })

  server.tool('test_missing_capability', { description: 'Needs the model of the client' }, async (_, ctx) => {
    const answer = await ctx.sample('completion', { prompt: 'Say hello.', maxTokens: 10 })
    return answer.text
  })

  server.tool('test_streaming_elicitation', { description: 'Asks for a name' }, async (_, ctx) => {
    const { action } = await ctx.elicit('name', 'What is your name?', z.object({ name: z.string() }))
    return `The person chose ${action}`
  })
}

const Person = z.object({ username: z.string(), email: z.string() })

const Profile = z.object({
  name: z.string().default('John Doe'),
  age: z.int().default(30),
  score: z.number().default(95.5),
  status: z.enum(['active', 'inactive', 'pending']).default('active'),
  verified: z.boolean().default(true),
})

const titled = (word: string) =>
  ['First', 'Second', 'Third'].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${word}` }))

const options = ['option1', 'option2', 'option3']

const choices = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
} as const
