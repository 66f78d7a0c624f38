/** What a task tells of an effect: `kept` when its result is, before that when it is done. */
export type Told = {
  readonly id: string
  readonly step: number
  /** Of the handler: another one after each loss. */
  readonly run: string
  readonly version: string
  readonly kept: boolean
}
