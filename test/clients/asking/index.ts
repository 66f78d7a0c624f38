/** A travel desk that asks in every way there is. Nothing in here knows of revisions. */
import { type ClientFeature, createServer, serve } from 'edgemcp'
import { converse } from 'edgemcp/sampling'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'asking', version: '1.0.0' })

server.tool('greet', { description: 'Asks who is there' }, async (_, ctx) => {
  const answer = await ctx.elicit('name', 'What is your name?', z.object({ name: z.string().min(1) }))
  return answer.action === 'accept' ? `Hello, ${answer.content.name}!` : `No name: ${answer.action}`
})

const Seat = z.object({
  place: z.enum(['window', 'aisle']),
  fare: z.union([z.literal('eco').meta({ title: 'Economy' }), z.literal('biz').meta({ title: 'Business' })]),
  seats: z.int().min(1).max(9),
  luggage: z.number().min(0).max(32.5),
  meal: z.boolean(),
  insured: z.boolean().default(true),
  day: z.iso.date(),
  mail: z.email().optional(),
})
server.tool('reserve', { description: 'Asks with every kind of field' }, async (_, ctx) => {
  const answer = await ctx.elicit('seat', 'Which seat?', Seat)
  return answer.action === 'accept' ? JSON.stringify(answer.content) : `No seat: ${answer.action}`
})

const Meals = z.object({ meals: z.array(z.enum(['breakfast', 'lunch', 'dinner'])).min(1) })
server.tool('board', { description: 'Asks for several of some choices' }, async (_, ctx) => {
  const answer = await ctx.elicit('meals', 'Which meals?', Meals)
  return answer.action === 'accept' ? answer.content.meals.join(' and ') : `No meals: ${answer.action}`
})

server.tool('pay', { description: 'Sends a person to a page' }, async (_, ctx) => {
  const visited = await ctx.elicitUrl('payment', 'Pay here', 'https://example.com/pay?order=1')
  if (visited.action !== 'accept') return `Not paid: ${visited.action}`
  ctx.elicitationComplete('payment')
  return 'Paid'
})

server.tool('describe', { description: "Asks the client's model" }, async (_, ctx) => {
  const answer = await ctx.sample('city', { prompt: 'Describe Oslo', systemPrompt: 'Be brief', maxTokens: 50 })
  return `${answer.model} says: ${answer.text}`
})

const skies: Record<string, string> = { Oslo: 'snow', Rome: 'sun' }
const weather = {
  description: 'How the weather is in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }: { city: string }) => skies[city] ?? 'unknown',
}
server.tool('pack', { description: "Lets the client's model call a tool, until it knows enough" }, async (_, ctx) => {
  const { text, stopReason, turns } = await converse(ctx, 'luggage', {
    prompt: 'What to pack for Oslo and Rome?',
    tools: { weather },
    toolChoice: { mode: 'required' },
    maxTokens: 100,
    maxTurns: 5,
  })
  return `${text} (${stopReason}, turn ${turns})`
})

server.tool('enrol', { description: 'Does nothing before a person was on a page' }, async (_, ctx) => {
  const visited = await ctx.elicitUrl('enrol', 'Enrol here', 'https://example.com/enrol', { required: true })
  return `Enrolled: ${visited.action}`
})

server.tool('locate', { description: 'Asks where the client works' }, async (_, ctx) => {
  const roots = await ctx.roots()
  return roots.map(({ name, uri }) => `${name} at ${uri}`).join(', ')
})

server.tool('agree', { description: 'Asks a person and a model at once' }, async (_, ctx) => {
  const [person, model] = await Promise.all([
    ctx.elicit('person', 'Where do you want to go?', z.object({ city: z.string() })),
    ctx.sample('model', { prompt: 'Where should one go?', maxTokens: 10 }),
  ])
  return `${person.content?.city} or ${model.text}`
})

server.tool('survey', { description: 'Asks a model and for its folders at once' }, async (_, ctx) => {
  const [model, roots] = await Promise.all([
    ctx.sample('model', { prompt: 'Where should one go?', maxTokens: 10 }),
    ctx.roots('folders'),
  ])
  return `${model.text} and ${roots.length} folders`
})

/** How often each order was done. */
const bookings = new Map<string, number>()
const book = (order: string) => {
  bookings.set(order, (bookings.get(order) ?? 0) + 1)
  return bookings.get(order)
}
for (const single of [false, true]) {
  server.tool(
    single ? 'book_once' : 'book',
    { description: 'Asks, books and asks again', singleUse: single, inputSchema: z.object({ order: z.string() }) },
    async ({ order }, ctx) => {
      const trip = await ctx.elicit('trip', 'Where to?', z.object({ city: z.string() }))
      const sure = await ctx.elicit('sure', `To ${trip.content?.city}, really?`, z.object({ sure: z.boolean() }))
      if (!sure.content?.sure) return 'Nothing was booked.'
      await ctx.once('book', () => book(order))
      const seat = await ctx.elicit('seat', 'Booked. Which seat?', z.object({ seat: z.string() }))
      return `${trip.content?.city}, seat ${seat.content?.seat}, booked ${bookings.get(order)} time(s)`
    },
  )
}

server.tool('tour', { description: 'Asks for one stop after another' }, async (_, ctx) => {
  const stops: string[] = []
  for (let turn = 1; turn <= 9; turn++) {
    const after = stops.at(-1) ?? 'the start'
    const next = await ctx.elicit(`stop-${turn}`, `Where to after ${after}?`, z.object({ city: z.string() }))
    if (next.action !== 'accept') return `${stops.join(', ')}, and home`
    stops.push(await ctx.once(`note-${turn}`, () => `${turn}. ${next.content.city}`))
  }
  return 'Too far'
})

server.tool('greet_raw', { description: 'Asks who is there, in the words of the protocol' }, async (_, ctx) => {
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const name = ctx.inputResponse('name')
  if (!name) {
    const params = { mode: 'form', message: 'What is your name?', requestedSchema }
    return ctx.requestInput({ name: { method: 'elicitation/create', params } })
  }
  return name.action === 'accept' ? `Hello, ${name.content?.name}!` : `No name: ${name.action}`
})

server.prompt('postcard', { description: 'Asks a person whom to write to' }, async (_, ctx) => {
  const answer = await ctx.elicit('whom', 'Whom do you write to?', z.object({ name: z.string() }))
  return `Write a postcard to ${answer.content?.name}`
})

server.prompt('slogan', { description: 'Asks a model for a word' }, async (_, ctx) => {
  const answer = await ctx.sample('word', { prompt: 'Where should one go?', maxTokens: 10 })
  return `Write a slogan for ${answer.text}`
})

server.resource('desk://passport', { name: 'passport', description: 'Asks before it shows itself' }, async (_, ctx) => {
  const answer = await ctx.elicit('pass', 'May I show it?', z.object({ sure: z.boolean() }))
  return answer.content?.sure ? 'A passport' : 'Nothing'
})

server.resource('desk://files', { name: 'files', description: 'Asks where they are' }, async (_, ctx) => {
  const roots = await ctx.roots()
  return roots.map(({ uri }) => uri).join('\n')
})

const features: readonly ClientFeature[] = [
  'elicitation',
  'elicitation.url',
  'sampling',
  'sampling.tools',
  'sampling.context',
  'roots',
]
server.tool('abilities', { description: 'What the client may be asked' }, (_, ctx) =>
  features.filter((feature) => ctx.supports(feature)).join(' '),
)

server.tool('greet_if_possible', { description: 'Asks who is there, if it may' }, async (_, ctx) => {
  if (!ctx.supports('elicitation')) return 'Hello, stranger!'
  const answer = await ctx.elicit('name', 'What is your name?', z.object({ name: z.string() }))
  return `Hello, ${answer.content?.name}!`
})

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
