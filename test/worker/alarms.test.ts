/** The alarm of a Durable Object, which several deadlines share. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { Alarms } from '../../durable-objects/shared/alarms.ts'

const { McpSession } = exports as unknown as { McpSession: DurableObjectNamespace }

const [minuteMs, hourMs, dayMs] = [60_000, 60 * 60_000, 24 * 60 * 60_000]

type Turn = (alarms: Alarms, now: number) => readonly Promise<void>[]

test.each<[string, Turn]>([
  ['one that is added before a later one', (alarms, now) => [alarms.add(now + minuteMs), alarms.add(now + hourMs)]],
  ['one that is added after a later one', (alarms, now) => [alarms.add(now + hourMs), alarms.add(now + minuteMs)]],
  [
    'one that is set after a later one is added',
    (alarms, now) => [alarms.add(now + hourMs), alarms.set({ hold: now + minuteMs })],
  ],
  [
    'one that is set before a later one is added',
    (alarms, now) => [alarms.set({ hold: now + minuteMs }), alarms.add(now + hourMs)],
  ],
  [
    'one that is added after a later one is set',
    (alarms, now) => [alarms.set({ hold: now + hourMs }), alarms.add(now + minuteMs)],
  ],
  [
    'one of three that are added',
    (alarms, now) => [alarms.add(now + hourMs), alarms.add(now + minuteMs), alarms.add(now + 2 * minuteMs)],
  ],
])('the earliest deadline of a turn is the alarm: %s', async (_, turn) => {
  for (const isSet of [false, true]) {
    await runInDurableObject(McpSession.getByName(crypto.randomUUID()), async (_, { storage }) => {
      const alarms = new Alarms(storage)
      const now = Date.now()
      if (isSet) await alarms.set({ idle: now + dayMs })
      await Promise.all(turn(alarms, now))
      expect(await storage.getAlarm()).toBe(now + minuteMs)
      await storage.deleteAlarm()
    })
  }
})

test('a deadline is added after the alarm has fired, and after the storage was deleted', async () => {
  await runInDurableObject(McpSession.getByName(crypto.randomUUID()), async (_, { storage }) => {
    const alarms = new Alarms(storage)
    const now = Date.now()
    for (const clear of [() => storage.deleteAlarm(), () => storage.deleteAll()]) {
      await alarms.set({ idle: now + minuteMs })
      await alarms.add(now + hourMs)
      await clear()
      await alarms.add(now + hourMs)
      expect(await storage.getAlarm()).toBe(now + hourMs)
    }
    await storage.deleteAlarm()
  })
})
