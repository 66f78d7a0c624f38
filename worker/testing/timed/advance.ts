/** The path of the request by which a test moves the clock of a Worker. */
export const advancePath = '/.edgemcp/testing/advance'

export type Advance = {
  readonly milliseconds: number
  /** Objects that may have an alarm. */
  readonly objects: readonly { readonly class: string; readonly id: string }[]
}
