/** tmcp, with sessions in the memory of the isolate. */
import { ValibotJsonSchemaAdapter } from '@tmcp/adapter-valibot'
import { ZodJsonSchemaAdapter } from '@tmcp/adapter-zod'
import { HttpTransport } from '@tmcp/transport-http'
import { McpServer } from 'tmcp'
import * as offer from '../offer.ts'
import * as valibot from '../schemas/valibot.ts'
import * as zod from '../schemas/zod.ts'
import { serverInfo, tools } from '../wire.ts'

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

const server = new McpServer(serverInfo, {
  adapter: (OFFER === 'valibot' ? new ValibotJsonSchemaAdapter() : new ZodJsonSchemaAdapter()) as ZodJsonSchemaAdapter,
  capabilities: { tools: {}, resources: {} },
})

const { echo, add, greet } = tools
if (OFFER === 'plain' || OFFER === 'many') {
  server.tool({ name: echo.name, description: echo.description, schema: zod.echo }, ({ text }) => said(text))
  server.tool({ name: add.name, description: add.description, schema: zod.add }, ({ a, b }) => said(String(a + b)))
  server.tool({ name: greet.name, description: greet.description, schema: zod.greet }, ({ name }) => {
    return said(offer.greeting(name))
  })
  const { text, mimeType, ...resource } = offer.readme
  server.resource({ ...resource, mimeType }, (uri) => ({ contents: [{ uri, mimeType, text }] }))
}
if (OFFER === 'many') {
  for (const { name, description } of offer.greeters) {
    server.tool({ name, description, schema: zod.greet }, (input) => said(offer.greeting(input.name)))
  }
}
if (OFFER === 'talking') {
  server.tool({ ...offer.count }, async () => {
    for (let step = 1; step <= offer.steps; step += 1) {
      const pause = offer.pause(step)
      if (pause) await pause
      server.progress(step, offer.steps)
    }
    return said(offer.counted)
  })
  server.tool({ ...offer.buy, schema: zod.buy, replayable: true }, async ({ item }) => {
    const answer = await server.elicitation(offer.question(item), zod.consent)
    return said(offer.bought(item, answer.action === 'accept' && answer.content?.sure === true))
  })
}
const answer = (input: offer.Temperatures) => {
  const structuredContent = offer.converted(input)
  return { ...said(JSON.stringify(structuredContent)), structuredContent }
}
if (OFFER === 'zod') {
  const { temperatures: schema, converted: outputSchema } = zod
  server.tool({ ...offer.convert, schema, outputSchema }, answer)
}
if (OFFER === 'valibot') {
  const { temperatures: schema, converted: outputSchema } = valibot
  server.tool({ ...offer.convert, schema, outputSchema } as never, answer as never)
}

const transport = new HttpTransport(server, { path: '/mcp' })

export default {
  async fetch(request: Request): Promise<Response> {
    return (await transport.respond(request)) ?? new Response(null, { status: 404 })
  },
}
