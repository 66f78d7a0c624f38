/** edgemcp, used as in its README. */
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'
import * as offer from './offer.ts'
import * as json from './schemas/json.ts'
import * as valibot from './schemas/standard-valibot.ts'
import * as zod from './schemas/zod.ts'
import { serverInfo, tools } from './wire.ts'

const server = createServer(OFFER === 'json' ? { ...serverInfo, jsonSchema } : serverInfo)
const { echo, add, greet } = tools

if (OFFER === 'plain' || OFFER === 'many') {
  server.tool(echo.name, { description: echo.description, inputSchema: zod.echo }, ({ text }) => text)
  server.tool(add.name, { description: add.description, inputSchema: zod.add }, ({ a, b }) => String(a + b))
  server.tool(greet.name, { description: greet.description, inputSchema: zod.greet }, ({ name }) =>
    offer.greeting(name),
  )
  const { uri, name, description, mimeType, text } = offer.readme
  server.resource(uri, { name, description, mimeType }, () => text)
}
if (OFFER === 'many') {
  for (const { name, description } of offer.greeters) {
    server.tool(name, { description, inputSchema: zod.greet }, (input) => offer.greeting(input.name))
  }
}
if (OFFER === 'talking') {
  server.tool(offer.count.name, { description: offer.count.description }, async (_input, ctx) => {
    for (let step = 1; step <= offer.steps; step += 1) {
      const pause = offer.pause(step)
      if (pause) await pause
      ctx.progress(step, offer.steps)
    }
    return offer.counted
  })
  server.tool(offer.buy.name, { description: offer.buy.description, inputSchema: zod.buy }, async ({ item }, ctx) => {
    const answer = await ctx.elicit('consent', offer.question(item), zod.consent)
    return offer.bought(item, answer.action === 'accept' && answer.content.sure)
  })
}
const { name, description } = offer.convert
if (OFFER === 'zod') {
  server.tool(name, { description, inputSchema: zod.temperatures, outputSchema: zod.converted }, (input) =>
    offer.converted(input),
  )
}
if (OFFER === 'valibot') {
  server.tool(name, { description, inputSchema: valibot.temperatures, outputSchema: valibot.converted }, (input) => {
    return offer.converted(input)
  })
}
if (OFFER === 'json') {
  server.tool(name, { description, inputSchema: json.temperatures, outputSchema: json.converted }, (input) => {
    return offer.converted(input as unknown as offer.Temperatures)
  })
}

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
