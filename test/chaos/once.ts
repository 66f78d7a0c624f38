/** What may be seen from outside of a task's effects, however often its object was lost: each once, and again only where it was cut. */
import assert from 'node:assert/strict'

/** An effect as the diary saw it. */
export type Attempt = {
  readonly step: number
  readonly run: string
  readonly version: string
  /** The diary has answered, and the effect may have ended. */
  isAnswered: boolean
  /** The handler went on: its result is on disk. */
  isKept: boolean
}

/** A run that was told to be lost, and the version that its task goes on with. */
export type Loss = { readonly run: string; readonly by: string; readonly version: string }

/** Where the losses of a task fell. */
export type Falls = {
  /** Before the effect could end: done once more, each. */
  inside: number
  /** After its result was on disk, before the next one began: never done again. */
  between: number
  /** While its result was on the way to the disk, as far as can be seen: done again or not. */
  beside: number
  /** Of those. */
  besideAgain: number
}

/**
 * Holds every attempt of a task to what was promised.
 *
 * @param attempts in the order in which they were heard of
 * @throws AssertionError when an effect was left out, or done again without need
 */
export function judge(name: string, attempts: readonly Attempt[], losses: readonly Loss[], steps: number): Falls {
  const falls: Falls = { inside: 0, between: 0, beside: 0, besideAgain: 0 }
  const runs = [...new Set(attempts.map(({ run }) => run))]
  const lost = losses.map(({ run }) => run)
  assert.deepEqual(runs.slice(0, -1), lost, `${name} has runs that followed no loss`)
  // What a lost run had sent may arrive when the next one has begun.
  const inOrder = runs.flatMap((run) => attempts.filter((attempt) => attempt.run === run))
  assert.equal(inOrder[0]?.step, 1, `${name} does not begin with its first step`)
  for (const [at, next] of inOrder.slice(1).entries()) {
    const { step, run, isAnswered, isKept } = inOrder[at] as Attempt
    const after = `${name} has step ${next.step} after step ${step}`
    assert.ok(isAnswered || !isKept, `${name} has kept step ${step}, which was not done`)
    if (next.run === run) {
      assert.ok(isKept && next.step === step + 1, `${after}, in one run`)
      continue
    }
    const loss = losses[runs.indexOf(run)] as Loss
    assert.equal(next.version, loss.version, `${after}, in another version`)
    const told = `${after}, which was ${isKept ? 'kept' : isAnswered ? 'done' : 'cut'} when it was lost by ${loss.by}`
    const isAgain = next.step === step
    assert.ok(isAgain ? !isKept : isAnswered && next.step === step + 1, told)
    if (isKept) falls.between += 1
    else if (!isAnswered) falls.inside += 1
    else {
      falls.beside += 1
      if (isAgain) falls.besideAgain += 1
    }
  }
  const last = inOrder.at(-1)
  assert.ok(last?.step === steps && last.isKept, `${name} left out what follows step ${last?.step}`)
  return falls
}
