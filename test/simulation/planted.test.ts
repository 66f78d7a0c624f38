/** Tests the simulation: schedules find each planted defect. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { share } from '../support/full.ts'
import { type PlantedDefect, planted } from './planted.ts'
import { Servers } from './servers.ts'
import { simulate } from './simulate.ts'

const root = resolve(import.meta.dirname, '../..')

/** Schedules that must be enough. */
const mostSchedules = 1000

async function isFound(defect: PlantedDefect): Promise<boolean> {
  const { clients, kinds } = defect
  const server = await new Servers([defect]).of(1, clients)
  const settings = { ...(clients && { clients }), ...(kinds && { faultKinds: kinds }) }
  for (let seed = 1; seed <= mostSchedules; seed += 1) {
    const { violation } = await simulate(server, seed, settings)
    if (violation) return true
  }
  return false
}

test('each defect replaces a text that its file has once', () => {
  const timesIn = ({ file, search }: PlantedDefect) => readFileSync(join(root, file), 'utf8').split(search).length - 1
  expect(planted.filter((defect) => timesIn(defect) !== 1).map(({ name }) => name)).toEqual([])
})

test.each(share(planted, 12))('finds: $name', async (defect) => {
  expect(await isFound(defect)).toBe(true)
})
