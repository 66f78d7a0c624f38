import { waitAtMost } from '../../worker/engine/wait.ts'

/** The alarm of a Durable Object. An object has one alarm, so several deadlines share it: the earliest one wins. */
export class Alarms {
  readonly #storage: DurableObjectStorage
  #added = Promise.withResolvers<void>()
  /** The alarm that was set last, in milliseconds since 1970. */
  #last: { readonly at: number } | undefined
  /** See `hold`. */
  #held: number | undefined

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /**
   * Sets the alarm to the earliest deadline, in the place of the alarm that was set.
   *
   * @param deadlines milliseconds since 1970, each by the name of what is due
   */
  set(deadlines: Readonly<Record<string, number>>): Promise<void> {
    this.release()
    return this.#set(Math.min(...Object.values(deadlines)))
  }

  /**
   * Sets an alarm that is later than one whose handler runs in this millisecond. The platform loses an alarm that its own handler sets to the
   * same time, and cuts the fractions of milliseconds from times, so the alarm for a deadline may come before it.
   */
  #set(deadlineMs: number): Promise<void> {
    const at = Math.max(deadlineMs, Date.now() + 1)
    this.#last = { at }
    return this.#storage.setAlarm(at)
  }

  /** Sets an alarm that many calls have in common: one of them that comes sooner stays. The caller releases it when it runs or is deleted. */
  hold(deadlineMs: number): void {
    if (this.#isHeldBefore(deadlineMs)) return
    this.#held = deadlineMs
    void this.#set(deadlineMs)
  }

  release(): void {
    this.#held = undefined
  }

  #isHeldBefore(deadlineMs: number): boolean {
    return this.#held !== undefined && this.#held > Date.now() && this.#held <= deadlineMs
  }

  /** Adds a deadline: an alarm that is set to an earlier time stays. Ends every `wait`. */
  async add(deadlineMs: number): Promise<void> {
    this.#added.resolve()
    this.#added = Promise.withResolvers()
    if (this.#isHeldBefore(deadlineMs)) return
    const last = this.#last
    const stored = await this.#storage.getAlarm()
    // Others of the same turn may have set the alarm since it was read.
    const scheduled = this.#last === last ? stored : this.#last?.at
    if (!scheduled || scheduled > deadlineMs) await this.#set(deadlineMs)
  }

  /** Waits inside an alarm, while no other alarm runs: until the work is done, the deadline has come, or a deadline is added. */
  async wait(work: Promise<unknown>, deadlineMs: number): Promise<void> {
    await waitAtMost(deadlineMs - Date.now(), Promise.race([work, this.#added.promise]))
  }
}
