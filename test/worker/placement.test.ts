import { expect, test } from 'vitest'
import { objectIn } from '../../durable-objects/placement.ts'

/** What the platform offers, written down: the local runtime has no jurisdictions. */
function platform(refusal?: string) {
  const within = (jurisdiction: string) => ({
    jurisdiction(name: string) {
      if (refusal) throw new Error(refusal)
      return within(name)
    },
    getByName: (name: string, { locationHint }: { locationHint?: string }) => ({ jurisdiction, name, locationHint }),
  })
  return within('anywhere') as unknown as DurableObjectNamespace
}

test('objects are created in the configured jurisdiction and location', () => {
  const placed = objectIn(platform(), 'one', { jurisdiction: 'eu', locationHint: 'weur' })
  expect(placed).toEqual({ jurisdiction: 'eu', name: 'one', locationHint: 'weur' })
  expect(objectIn(platform(), 'one', {})).toEqual({ jurisdiction: 'anywhere', name: 'one', locationHint: undefined })
})

test('objects are not created elsewhere when the platform refuses their jurisdiction', () => {
  const refusing = platform('Unknown jurisdiction')
  expect(() => objectIn(refusing, 'one', { jurisdiction: 'eu' })).toThrow('Unknown jurisdiction')
})
