/** State of sessions and of handles, and answers that count once. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { type Message, SessionClient } from './session-client.ts'
import { accepted, StatelessClient } from './stateless-client.ts'

/** A visit that was acknowledged is counted, and counted once. */
export function visitors(world: ClientWorld): void {
  const { random } = world
  world.start('visitors', async () => {
    const client = new SessionClient(world)
    await client.open()
    let acknowledged = 0
    let last = 0
    for (let visits = random.whole(1, 6); visits > 0; visits -= 1) {
      const count = Number(await untilCalled(world, () => client.ask('tools/call', { name: 'visit', arguments: {} })))
      acknowledged += 1
      assert.ok(count > last, `visit ${acknowledged} is number ${count}, after ${last}`)
      const most = client.requests
      assert.ok(count >= acknowledged && count <= most, `visit ${acknowledged} is number ${count} of ${most}`)
      last = count
      // A session expires a day after its last use.
      await world.sleep(random.pick([0, 1000, 20_000, 20 * 3_600_000]))
    }
    if (random.chance(0.5)) await client.close()
    else await client.expire()
    // A call that is lost leaves state to its alarm.
    if (world.faultCount > 0) return
    for (const name of world.stored('McpState').keys()) {
      assert.ok(!name.includes('visits'), `${name}: state has outlived its session`)
    }
  })
}

/** An item that was acknowledged is in the basket until the basket is cleared, discarded or expires. One that was refused is not. */
export function shoppers(world: ClientWorld): void {
  const { random } = world
  world.start('shoppers', async () => {
    const client = new StatelessClient(world)
    const call = (name: string, args: object) => untilCalled(world, async () => (await client.call(name, args)).message)
    const basket = await call('new_basket', {})
    const shown = async () => {
      const [count, lines] = JSON.parse(await call('show', { basket }))
      assert.equal(count, lines, 'what one operation writes is stored in part')
      return Number(count)
    }
    let known = 0
    for (let steps = random.whole(1, 5); steps > 0; steps -= 1) {
      const act = random.pick(['add', 'add', 'overfill', 'clear'])
      if (act === 'overfill') {
        const message = await untilReached(world, async () => (await client.call(act, { basket })).message)
        assert.ok(Object(message.result).isError || message.error, 'an operation that throws has succeeded')
        assert.equal(await shown(), known, 'an operation that threw has changed the basket')
      } else {
        await call(act, { basket })
        const count = await shown()
        // A call whose answer was lost is repeated.
        const isExpected = act === 'add' ? count > known : count === 0
        assert.ok(isExpected, `after ${act}, a basket of ${known} has ${count}`)
        known = count
      }
      await world.sleep(random.pick([0, 1000, 3_600_000]))
    }
    // A basket expires a day after its creation.
    if (random.chance(0.5)) await untilReached(world, async () => (await client.call('discard', { basket })).message)
    else await world.sleep(3 * 24 * 3_600_000)
    const late = await client.call('show', { basket })
    const result = JSON.stringify(late.message)
    assert.ok(Object(late.message.result).isError || late.message.error, `a basket outlives its time: ${result}`)
  })
}

/** An answer to a `singleUse` tool takes effect once, also if the client sends it several times. */
export function spenders(world: ClientWorld): void {
  const { random } = world
  world.start('spenders', async () => {
    const client = new StatelessClient(world)
    const args = { key: 'spend' }
    const first = await client.ask('tools/call', { name: 'spend', arguments: args })
    const { requestState, inputRequests } = Object(first.result)
    assert.ok(requestState, JSON.stringify(first))
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]))
    const answer = () => client.ask('tools/call', { name: 'spend', arguments: args, inputResponses, requestState })
    const answers = await Promise.all(Array.from({ length: random.whole(1, 3) }, answer))
    answers.push(await answer())
    const results = answers.filter(({ result }) => result !== undefined)
    for (const { result, error } of answers) {
      const isEnded = ['used', 'interrupted'].includes(Object(error?.data).reason)
      assert.ok(result ?? isEnded, `an answer is neither accepted nor refused as used: ${JSON.stringify(error)}`)
    }
    for (const { result } of results) assert.deepEqual(result, results[0]?.result, 'one answer has two results')
    world.checks.push(() => {
      const times = world.written('spend')
      assert.ok(times <= 1, `one answer took effect ${times} times`)
    })
  })
}

/** Returns the text of the result of a call. */
const untilCalled = async (world: ClientWorld, call: () => Promise<Message>) => textOf(await untilReached(world, call))

/** Repeats a call whose handler could not reach an object. */
async function untilReached(world: ClientWorld, call: () => Promise<Message>): Promise<Message> {
  for (let attempt = 0; ; attempt += 1) {
    const message = await call()
    if (!isUnreachable(message)) return message
    assert.ok(attempt < 20, 'The object does not come back')
    world.serverErrors.push('Network connection lost')
    await world.sleep(500)
  }
}

const isUnreachable = ({ result }: Message): boolean =>
  Object(result).isError === true && JSON.stringify(result).includes('Network connection lost')

const textOf = ({ result, error }: Message): string => {
  const [first] = Object(result).content ?? []
  assert.ok(typeof first?.text === 'string' && !Object(result).isError, JSON.stringify(result ?? error))
  return first.text
}
