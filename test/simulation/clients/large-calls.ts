/** Calls whose events and results do not fit into the connection of a client that reads slowly, nor into what waits for it. */
import assert from 'node:assert/strict'
import type { Random } from '../platform/random.ts'
import type { World } from '../world.ts'
import { checkCall } from './calls.ts'
import { HttpSseSession } from './http-sse.ts'
import { type CallArguments, keptNotifications, SessionClient } from './session-client.ts'
import { StatelessClient } from './stateless-client.ts'

/** Each event that is kept arrives once, in order and as a whole, and so does the result. */
export function largeCalls(world: World): void {
  const { random } = world
  world.start('large calls', async () => {
    const run = random.pick([inSession, inSession, inSession, overSse, stateless])
    await run(world)
  })
}

async function inSession(world: World): Promise<void> {
  const { random } = world
  const protocolVersion = random.pick(['2025-11-25', '2025-11-25', '2025-06-18', '2025-03-26'])
  const client = new SessionClient(world, { protocolVersion })
  await client.open()
  const call = async (index: number) => {
    const done = await client.call(random.pick(['count', 'count', 'pay']), argumentsOf(`large ${index}`, random))
    world.checks.push(() => checkCall(done, world))
  }
  await Promise.all(Array.from({ length: random.whole(1, 2) }, (_, index) => call(index)))
  if (random.chance(0.5)) await client.close()
  else await client.expire()
}

async function overSse(world: World): Promise<void> {
  const session = new HttpSseSession(world)
  if (await session.open()) await session.call('count', argumentsOf('large sse', world.random, false))
  session.close()
}

async function stateless(world: World): Promise<void> {
  const client = new StatelessClient(world)
  const args = argumentsOf('large stateless', world.random)
  const _meta = { progressToken: args.key }
  const { result, error } = await client.ask('tools/call', { name: 'count', arguments: args, _meta })
  const [content] = Object(result).content ?? []
  assert.ok(content, JSON.stringify(error))
  const { key, large = '' } = JSON.parse(content.text)
  assert.equal(key, args.key, `${args.key}: the result of another call`)
  assert.equal(large.length, args.resultBytes, `${args.key}: a part of the result`)
}

/** Some need a relay, few fill what waits for their client, and some have more events than are kept. */
function argumentsOf(key: string, random: Random, mayFlood = true): CallArguments & { readonly resultBytes: number } {
  const pauseMs = random.pick([0, random.between(1, 50), random.between(50, 800)])
  const resultBytes = random.pick([0, 0, random.whole(1000, 60_000), random.whole(200_000, 300_000)])
  const size = random.next()
  if (mayFlood && size < 0.25) {
    const pauses = random.whole(0, 30)
    return { key, steps: keptNotifications + pauses + 10, pauseMs, pauses, bytes: random.whole(1, 20_000), resultBytes }
  }
  if (size < 0.45)
    return { key, steps: random.whole(10, 14), pauseMs, bytes: random.whole(150_000, 250_000), resultBytes }
  return {
    key,
    steps: random.whole(2, 8),
    pauseMs,
    bytes: random.whole(1000, random.pick([8000, 40_000])),
    resultBytes,
  }
}
