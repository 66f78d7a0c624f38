/** What a client may expect of a call, however often its server was killed. */
import assert from 'node:assert/strict'
import type { StreamedCall } from './streamed-call.ts'

/** How many runs a call takes that nothing disturbs; what asks is run from the top once it has its answer. */
export const runsOf = { count: 1, put: 1, pay: 1, ask: 2, ask_safely: 2 }
export type Tool = keyof typeof runsOf

const isSafeToRetry = (tool: string) => tool !== 'pay' && tool !== 'ask'

/** What became of a call, as far as its client cannot know. */
export type Facts = {
  /** Runs that have begun. */
  runs: number
  /** What its question was answered with. */
  word: string | undefined
  /** The server was killed after the client had begun to answer. */
  killedSinceReply: boolean
}

/** @throws AssertionError when the call ended as it must not */
export function judge(call: StreamedCall, { runs, word, killedSinceReply }: Facts): 'result' | 'interrupted' {
  const { answer, name, question, seen, work } = call
  const tool = call.tool as Tool
  assert.ok(answer, `${name} has no end`)
  assert.equal(seen.size, Math.max(...seen.keys()), `${name} has a gap`)
  if (!isSafeToRetry(tool)) assert.ok(runs <= runsOf[tool], `${name} was run ${runs} times`)

  if ('result' in answer) {
    const [{ text }] = answer.result.content as [{ text: string }]
    const result = JSON.parse(text)
    assert.equal(call.progress.length, question ? 2 * work.steps : work.steps, `${name} has not said everything`)
    assert.equal(result.receipt, question?.receipt, `${name} forgot what it had done`)
    assert.equal(result.word, word, `${name} heard something else`)
    return 'result'
  }
  const data = { reason: 'interrupted', retryable: isSafeToRetry(tool) }
  const error = { code: -32603, message: 'The call was interrupted', data }
  assert.deepEqual('error' in answer && answer.error, error, name)
  // What waits for a person is safe.
  if (question) assert.ok(killedSinceReply, `${name} was interrupted while it waited`)
  // What can be run again is given up only after it was lost three times.
  if (isSafeToRetry(tool)) assert.ok(runs > 2, `${name} was given up after ${runs} runs`)
  return 'interrupted'
}

/** Runs that made up for lost ones. */
export const reruns = ({ tool }: StreamedCall, runs: number): number =>
  isSafeToRetry(tool) ? Math.max(0, runs - runsOf[tool as Tool]) : 0
