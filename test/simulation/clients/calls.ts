/** Calls of a session, with and without input requests. */
import assert from 'node:assert/strict'
import type { ClientWorld } from '../client-world.ts'
import { type Call, keptNotifications, SessionClient } from './session-client.ts'

/** Starts a client with one to three calls at the same time. @param areQuestions whether the tool asks the client */
export function calls(world: ClientWorld, areQuestions: boolean): void {
  const { random } = world
  const kind = areQuestions ? 'questions' : 'calls'
  world.start(kind, async () => {
    // Only 2025-03-26 has batches.
    const isOld = !areQuestions && random.chance(0.15)
    const client = new SessionClient(world, isOld ? { protocolVersion: '2025-03-26' } : {})
    await client.open()
    const call = async (index: number) => {
      await world.sleep(random.between(0, random.pick([500, 5000])))
      const tool = areQuestions ? 'ask' : random.pick(['count', 'count', 'pay'])
      const pauseMs = random.pick([0, random.between(1, 50), random.between(50, 800)])
      const key = `${kind} ${index}`
      const isAway = tool !== 'pay' && random.chance(0.4)
      // A call that runs again too often is given up.
      const mostRuns = areQuestions ? 3 : 2
      const hasEnded = () => world.written(`end of ${key}`) > 0 || world.written(key) > mostRuns
      const done = await client.call(
        tool,
        { key, steps: random.whole(1, 6), pauseMs },
        { ...(isAway && { awayUntil: hasEnded }), ...(isOld && { batch: ['ping', 'tools/list'] }) },
      )
      world.checks.push(() => checkCall(done, world))
    }
    await Promise.all(Array.from({ length: random.whole(1, 3) }, (_, index) => call(index)))
    if (random.chance(0.5)) await client.close()
    else await client.expire()
  })
}

/** Checks what is true of each call that has ended. */
export function checkCall(
  { tool, args, outcome, answer, questions, stream, progress }: Call,
  world: ClientWorld,
): void {
  const { key, steps } = args
  const runs = world.written(key)
  if (tool === 'pay') assert.ok(runs <= 1, `${key} must run once, and ran ${runs} times`)
  if (outcome === 'unknown') return
  if (!answer?.result) {
    const { reason } = Object(answer?.error?.data)
    assert.equal(reason, 'interrupted', `${key}: ${JSON.stringify(answer)}`)
    if (tool !== 'pay') assert.ok(runs > 2, `${key} was given up after ${runs} runs`)
    return
  }
  const { content } = answer.result as { content: readonly { text: string }[] }
  const result = JSON.parse(String(content[0]?.text))
  assert.equal(result.key, key, `${key}: the result of another call`)
  assert.equal(result.large?.length ?? 0, args.resultBytes ?? 0, `${key}: a part of the result`)
  if (tool === 'ask') {
    assert.equal(result.word, `The word for ${result.receipt}?`, `${key}: the answer of the client was lost`)
    assert.equal(questions, 1, `${key} was asked ${questions} times`)
    assert.deepEqual(progress, [1], `${key}: progress`)
    const receipts = world.written(`receipt of ${key}`)
    assert.ok(receipts <= 1 + world.faultCount, `${key} has written ${receipts} receipts`)
  } else if (steps > keptNotifications) {
    const inOrder = [...new Set(progress)].sort((one, other) => one - other)
    assert.deepEqual(progress, inOrder, `${key}: progress`)
    assert.equal(progress.at(-1), steps, `${key}: the last progress`)
  } else if (stream !== undefined) {
    const all = Array.from({ length: steps }, (_, index) => index + 1)
    assert.deepEqual(progress, all, `${key}: progress`)
  }
}
