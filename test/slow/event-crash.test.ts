import { expect, test } from 'vitest'
import { runCrash } from '../events/crash/run.ts'
import { plantedDefect } from '../simulation/planted.ts'

const settings = { principals: 20, timeoutMs: 3000, seconds: 9, drainSeconds: 120, seed: 1 }

test('events reach all that they are for, and nobody else, while workerd is killed', async () => {
  const { published, attempts, accepted, kills } = await runCrash(settings)
  expect(Math.min(published, kills)).toBeGreaterThan(0)
  expect(attempts).toBeGreaterThanOrEqual(accepted)
})

test.each([
  ['a tenant receives the events of others', /is for others/],
  ['an event is attempted once', /overtakes others|have not arrived/],
  ['the pauses between attempts do not grow', /comes after \d+ ms/],
  ['events overtake others of their key', /overtakes others|comes after others/],
  ['users are not authorized again', /after the end/],
  ['the object of a user is never deleted', /have outlived their time/],
  ['redirects of receivers are followed', /nobody has subscribed/],
])('it is noticed that %s', async (name, problem) => {
  const defects = [plantedDefect(name)]
  await expect(runCrash({ ...settings, seconds: 30, drainSeconds: 60, defects })).rejects.toThrow(problem)
})
