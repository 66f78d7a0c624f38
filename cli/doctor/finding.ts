/** Something that is wrong with a project. */
export type Finding = {
  /** What was looked for: always the same word for the same mistake. */
  readonly rule: string
  /** An error breaks something or lets somebody in; a hint is worth a thought. */
  readonly level: 'error' | 'hint'
  /** From the project's folder. */
  readonly file: string
  /** From 1. */
  readonly line?: number | undefined
  readonly problem: string
  readonly fix: string
  /** The fix as an edit of the file. */
  readonly change?: Change | undefined
}

/** Puts one text in the place of another, or at the end of the file. */
export type Change = {
  /** Left out: the file of the finding. */
  readonly file?: string
  readonly from?: string
  readonly to: string
}
