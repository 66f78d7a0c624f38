/** A server of mcp-lite. */
import { toJsonSchema } from '@valibot/to-json-schema'
import { McpServer } from 'mcp-lite'
import * as z from 'zod'
import * as offer from '../offer.ts'
import * as json from '../schemas/json.ts'
import * as valibot from '../schemas/valibot.ts'
import * as zod from '../schemas/zod.ts'
import { serverInfo, tools } from '../wire.ts'

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

const schemaAdapter = (schema: unknown) =>
  OFFER === 'valibot' ? toJsonSchema(schema as never) : z.toJSONSchema(schema as z.ZodType)

export const server = new McpServer({ ...serverInfo, schemaAdapter })

const { echo, add, greet } = tools
if (OFFER === 'plain' || OFFER === 'many') {
  server.tool(echo.name, {
    description: echo.description,
    inputSchema: zod.echo,
    handler: ({ text }) => said(text),
  })
  server.tool(add.name, {
    description: add.description,
    inputSchema: zod.add,
    handler: ({ a, b }) => said(String(a + b)),
  })
  server.tool(greet.name, {
    description: greet.description,
    inputSchema: zod.greet,
    handler: ({ name }) => said(offer.greeting(name)),
  })
  const { uri, name, description, mimeType, text } = offer.readme
  server.resource(uri, { name, description, mimeType }, async ({ href }) => {
    return { contents: [{ type: 'text', uri: href, mimeType, text }] }
  })
}
if (OFFER === 'many') {
  for (const { name, description } of offer.greeters) {
    server.tool(name, {
      description,
      inputSchema: zod.greet,
      handler: (input) => said(offer.greeting(input.name)),
    })
  }
}
if (OFFER === 'talking') {
  server.tool(offer.count.name, {
    description: offer.count.description,
    handler: async (_input, ctx) => {
      for (let progress = 1; progress <= offer.steps; progress += 1) {
        const pause = offer.pause(progress)
        if (pause) await pause
        await ctx.progress?.({ progress, total: offer.steps })
      }
      return said(offer.counted)
    },
  })
  server.tool(offer.buy.name, {
    description: offer.buy.description,
    inputSchema: zod.buy,
    handler: async ({ item }, ctx) => {
      const answer = await ctx.elicit({ message: offer.question(item), schema: offer.consentSchema })
      return said(offer.bought(item, answer.action === 'accept' && answer.content?.sure === true))
    },
  })
}
const { name, description } = offer.convert
const answer = (input: offer.Temperatures) => {
  const structuredContent = offer.converted(input)
  return { ...said(JSON.stringify(structuredContent)), structuredContent }
}
if (OFFER === 'zod') {
  const { temperatures: inputSchema, converted: outputSchema } = zod
  server.tool(name, { description, inputSchema, outputSchema, handler: (input) => answer(input) })
}
if (OFFER === 'valibot') {
  const { temperatures: inputSchema, converted: outputSchema } = valibot
  server.tool(name, { description, inputSchema, outputSchema, handler: (input) => answer(input) })
}
if (OFFER === 'json') {
  const { temperatures: inputSchema, converted: outputSchema } = json
  server.tool(name, { description, inputSchema, outputSchema, handler: (input) => answer(input as never) as never })
}
