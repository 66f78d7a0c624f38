/** Kills the whole server while tasks run, over and over, and counts what each of their steps did: it, once. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { serverProcess } from '../support/process.ts'
import { chance } from '../support/random.ts'
import { TaskClient, textOf } from '../tasks/client.ts'
import { inTime } from './in-time.ts'

/** Milliseconds for all tasks of a round, its kills included. */
const patience = 180_000

/** Each round runs some tasks of so many steps, and kills the server so often while they run. */
export async function tasks({ seed = 1, rounds = 10, each = 10, steps = 200, kills = 4 } = {}): Promise<string> {
  const random = chance(seed)
  /** How often each step of each task was done. */
  const done = new Map<string, number>()
  const diary = createServer(async (incoming, outgoing) => {
    const step = await text(incoming)
    done.set(step, (done.get(step) ?? 0) + 1)
    outgoing.end()
  })
  diary.listen(0, '127.0.0.1')
  await once(diary, 'listening')
  const url = `http://127.0.0.1:${(diary.address() as AddressInfo).port}/`
  await using server = await serverProcess(({ port, data }) => ['test/chaos/serve.ts', port, data, 'test/tasks/server'])
  await server.start()
  const client = new TaskClient(server.url)
  let killed = 0
  let again = 0
  for (let round = 1; round <= rounds; round += 1) {
    const ids = Array.from({ length: each }, (_, index) => `${round}.${index}`)
    const begun = await Promise.all(
      ids.map(async (id) => ({ id, taskId: await client.begin('steps', { id, steps, diary: url }) })),
    )
    const total = () => ids.reduce((sum, id) => sum + stepsOf(id).length, 0)
    const stepsOf = (id: string) => [...done.keys()].filter((step) => step.startsWith(`${id} `))
    for (let kill = 1; kill <= kills; kill += 1) {
      // Somewhere within the next part of the work.
      const enough = (each * steps * (kill - 1 + random.between(1, 9) / 10)) / (kills + 1)
      await inTime(reaches(total, enough), patience, `Round ${round}, before kill ${kill}`)
      await server.kill()
      killed += 1
      await server.start()
    }
    for (const { id, taskId } of begun) {
      const task = await inTime(client.until(taskId, 'completed'), patience, `Task ${id}`)
      assert.equal(textOf(task), `${steps} steps`)
      assert.equal(stepsOf(id).length, steps, `Task ${id} left out a step`)
    }
    const twice = ids.flatMap((id) => stepsOf(id).filter((step) => (done.get(step) ?? 0) > 1))
    again += twice.length
    // A kill may fall into the one effect of a task that is on its way.
    assert.ok(twice.length <= kills * each, `${twice} were done again`)
    for (const step of twice) assert.ok((done.get(step) ?? 0) <= 1 + kills, `${step} was done ${done.get(step)} times`)
  }
  diary.closeAllConnections()
  diary.close()
  return `${rounds * each} tasks of ${steps} steps, ${killed} kills; every step done, ${again} of ${rounds * each * steps} once more, because a kill fell into it`
}

async function reaches(count: () => number, enough: number): Promise<void> {
  while (count() < enough) await pause(5)
}
