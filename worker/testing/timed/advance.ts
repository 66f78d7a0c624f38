/** How a test outside asks a Worker to let time pass. */
export const advancePath = '/.edgemcp/testing/advance'

export type Advance = {
  readonly milliseconds: number
  /** Those that may have an alarm. */
  readonly objects: readonly { readonly class: string; readonly id: string }[]
}
