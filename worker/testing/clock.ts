/** The clock of an isolate, and the alarms of its Durable Objects by that clock. */
const realNow = Date.now

/** Milliseconds that this isolate is ahead of the environment, which triggers the alarms. */
let ahead = 0

/** Replaces the clock of this isolate by one that can move. */
export function takeOver(): void {
  if (Date.now !== realNow) return
  Date.now = () => realNow() + ahead
  globalThis.Date = new Proxy(Date, {
    construct: (RealDate, args, target) => Reflect.construct(RealDate, args.length > 0 ? args : [Date.now()], target),
    apply: () => new Date().toString(),
  })
}

type Alarms = Pick<DurableObjectStorage, 'setAlarm' | 'getAlarm'>
const translated = new WeakSet<object>()

/** Makes every storage of this isolate set its alarms by the clock of the isolate. */
export function translate(storage: DurableObjectStorage): void {
  // Storages inherit their methods.
  const all: Alarms = Object.getPrototypeOf(storage)
  if (translated.has(all)) return
  translated.add(all)
  const { getAlarm, setAlarm } = all
  all.setAlarm = function (this: Alarms, time, options) {
    return setAlarm.call(this, Number(time) - ahead, options)
  }
  all.getAlarm = async function (this: Alarms, options) {
    const time = await getAlarm.call(this, options)
    return time === null ? null : time + ahead
  }
}

/** The alarm of a Durable Object, from outside. */
export type Alarmed = {
  /** Milliseconds: when its alarm is due. */
  alarm(): Promise<number | null>
  setAlarm(time: number): Promise<void>
  /** Runs the alarm now. */
  ring(): Promise<void>
}

const mostAlarms = 1000

/** Moves the clock forward, from one alarm to the next. */
export async function pass(milliseconds: number, objects: () => Promise<Alarmed[]>): Promise<void> {
  if (!(milliseconds >= 0)) throw new Error(`The clock advances by milliseconds, 0 or more, not by ${milliseconds}`)
  const end = Date.now() + milliseconds
  for (let rung = 0; ; rung++) {
    const all = await Promise.all((await objects()).map(async (object) => ({ object, due: await object.alarm() })))
    const set = all.flatMap(({ object, due }) => (due === null ? [] : [{ object, due }])).sort((a, b) => a.due - b.due)
    const next = set[0] && set[0].due <= end ? set.shift() : undefined
    const by = (next?.due ?? end) - Date.now()
    if (by > 0) {
      ahead += by
      await Promise.all(set.map(({ object, due }) => object.setAlarm(due)))
    }
    if (!next) return
    if (rung === mostAlarms) throw new Error(`${rung} alarms in ${milliseconds} ms: advance the clock in smaller steps`)
    await next.object.ring()
  }
}
