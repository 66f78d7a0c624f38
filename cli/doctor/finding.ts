/** A mistake in a project. */
export type Finding = {
  /** The rule that found it: one word for each mistake. */
  readonly rule: string
  /** An error breaks a feature or admits unauthorized callers. A hint is advice. */
  readonly level: 'error' | 'hint'
  /** Relative to the project's folder. */
  readonly file: string
  /** From 1. */
  readonly line?: number | undefined
  readonly problem: string
  readonly fix: string
  /** The fix as an edit of the file. */
  readonly change?: Change | undefined
}

/** Replaces a text, or appends to the file. */
export type Change = {
  /** Default: the file of the finding. */
  readonly file?: string
  readonly from?: string
  readonly to: string
}
