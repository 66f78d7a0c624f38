/** Schedules of the whole server on a simulated platform, with faults. `npm run simulate` runs more of them. */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { count, share } from '../support/full.ts'
import { Servers } from './servers.ts'
import { repeatCommand, shrinkFaults, simulate } from './simulate.ts'

const servers = new Servers()

/** 600 seeds, half of them in `npm test`: each test takes a part, because a busy machine takes minutes for all. */
const parts = Array.from({ length: 12 }, (_, index) => index * 50)

test.each(share(parts, 2))('no schedule of the 50 seeds after %i violates what the server promises', async (part) => {
  const violations: string[] = []
  for (let seed = part + 1; seed <= part + 50; seed += 1) {
    const server = await servers.of(seed)
    const outcome = await simulate(server, seed)
    if (!outcome.violation) continue
    const faults = await shrinkFaults(server, outcome, {})
    violations.push(`${outcome.violation.message}: ${repeatCommand(outcome, faults)}`)
  }
  expect(violations).toEqual([])
})

const root = resolve(import.meta.dirname, '../..')

test('no schedule with two versions side by side violates what the server promises', async () => {
  const both = new Servers([], root)
  const violations: string[] = []
  for (let seed = 1; seed <= count(20, 50); seed += 1) {
    const { violation } = await simulate(await both.of(seed), seed)
    if (violation) violations.push(`${violation.message}: npm run simulate -- --seed ${seed} --beside HEAD`)
  }
  expect(violations).toEqual([])
})

test('versions whose Worker and objects do not understand each other are found out', async () => {
  const renamed = [
    { file: 'durable-objects/session/object.ts', search: '  async post(', replacement: '  async postAll(' },
    { file: 'worker/plugins/sessions/session-object.ts', search: ').post(', replacement: ').postAll(' },
  ]
  const found = async (servers: Servers) => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { violation } = await simulate(await servers.of(seed, ['calls']), seed, { clients: ['calls'] })
      if (violation) return true
    }
    return false
  }
  expect([await found(new Servers(renamed)), await found(new Servers(renamed, root))]).toEqual([false, true])
})

test('a seed has one trace', async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const server = await servers.of(seed)
    const [{ digest: one }, { digest: other }] = [await simulate(server, seed), await simulate(server, seed)]
    expect(one).toBe(other)
  }
})

test('a platform that sends messages before it stores what was written is found out', async () => {
  const found = []
  for (let seed = 1; seed <= 300 && found.length === 0; seed += 1) {
    const { violation } = await simulate(await servers.of(seed), seed, { isUngated: true })
    if (violation) found.push(violation)
  }
  expect(found).toHaveLength(1)
})
