import { waitAtMost } from './wait-at-most.ts'

/** The alarm of a Durable Object. An object has one alarm, so several deadlines share it: the earliest one wins. */
export class Alarms {
  readonly #storage: DurableObjectStorage
  #added = Promise.withResolvers<void>()

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /**
   * Sets the alarm to the earliest deadline, in the place of the alarm that was set.
   *
   * @param deadlines milliseconds since 1970, each by the name of what is due
   */
  set(deadlines: Readonly<Record<string, number>>): Promise<void> {
    return this.#storage.setAlarm(Math.min(...Object.values(deadlines)))
  }

  /** Adds a deadline: an alarm that is set to an earlier time stays. Ends every `wait`. */
  async add(deadlineMs: number): Promise<void> {
    this.#added.resolve()
    this.#added = Promise.withResolvers()
    const scheduled = await this.#storage.getAlarm()
    if (scheduled === null || scheduled > deadlineMs) await this.#storage.setAlarm(deadlineMs)
  }

  /** Waits inside an alarm, while no other alarm runs: until the work is done, the deadline has come, or a deadline is added. */
  async wait(work: Promise<unknown>, deadlineMs: number): Promise<void> {
    await waitAtMost(deadlineMs - Date.now(), Promise.race([work, this.#added.promise]))
  }
}
