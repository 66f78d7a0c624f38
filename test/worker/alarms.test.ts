/** The alarm of a Durable Object, which several deadlines share. */
import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, onTestFinished, test, vi } from 'vitest'
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

test.each([
  ['now', 0],
  ['in the past', -minuteMs],
  ['at a fraction of this millisecond', 0.7],
])('a deadline that is %s is later than an alarm whose handler runs in this millisecond', async (_, left) => {
  // No alarm of the runtime comes while Date stands an hour ahead.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hourMs })
  onTestFinished(() => void vi.useRealTimers())
  const now = Date.now()
  await runInDurableObject(McpSession.getByName(crypto.randomUUID()), async (_, { storage }) => {
    const alarms = new Alarms(storage)
    for (const change of [() => alarms.set({ due: now + left }), () => alarms.add(now + left)]) {
      await change()
      expect(await storage.getAlarm()).toBe(now + 1)
      await storage.deleteAlarm()
    }
  })
})

test('a held alarm stays for later deadlines, and is set again for a sooner one, and after it was released', async () => {
  await runInDurableObject(McpSession.getByName(crypto.randomUUID()), async (_, { storage }) => {
    const alarms = new Alarms(storage)
    const now = Date.now()
    const spy = vi.spyOn(storage, 'setAlarm')
    onTestFinished(() => spy.mockRestore())
    alarms.hold(now + minuteMs)
    alarms.hold(now + 2 * minuteMs)
    await alarms.add(now + hourMs)
    expect(spy.mock.calls).toEqual([[now + minuteMs]])
    alarms.hold(now + minuteMs / 2)
    await storage.deleteAll()
    alarms.release()
    await alarms.add(now + hourMs)
    expect(await storage.getAlarm()).toBe(now + hourMs)
    expect(spy.mock.calls).toEqual([[now + minuteMs], [now + minuteMs / 2], [now + hourMs]])
    await storage.deleteAlarm()
  })
})
