/**
 * Mistakes that beginners make, and the message that each of them reads. `mistakes.test.ts` makes them, and compares
 * docs/reference/mistakes.md with these rows.
 */
export type Mistake = {
  /** As docs/reference/mistakes.md has it. */
  readonly mistake: string
  /** Its first line. */
  readonly message: string
  /** What to do, as docs/reference/mistakes.md has it; empty: the message says it. */
  readonly fix: string
}

/** wrangler refuses an old Node.js. */
export const oldNode: Mistake = {
  mistake: 'Node.js 20',
  message: 'Wrangler requires at least Node.js v22.0.0. You are using v20.19.0. Please update your version of Node.js.',
  fix: 'Install Node.js 22.12 or newer: vitest needs it, too.',
}
