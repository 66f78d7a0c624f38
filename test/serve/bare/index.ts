/** A server whose Durable Objects were forgotten. */
import { createServer, serve } from 'edgemcp'
import { jsonSchema } from 'edgemcp/json-schema'
import { sessions } from 'edgemcp/sessions'
import { subscriptions } from 'edgemcp/subscriptions'

const server = createServer({ name: 'bare', version: '1.0.0', jsonSchema })
const forget = () => Promise.resolve('nothing was said')

server.tool('greet', { description: 'Greets' }, () => 'Hello!')
server.tool('ask', { description: 'Asks' }, async (_, ctx) => {
  const answer = await ctx.elicit('name', 'Name?', {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
  })
  return answer.action === 'accept' ? answer.content.name : forget()
})
server.tool('announce', { description: 'Says that the tools changed' }, () => server.notify.toolsChanged().then(forget))

export default serve(server, { plugins: [sessions(), subscriptions()] })
