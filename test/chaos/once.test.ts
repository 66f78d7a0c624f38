import { describe, expect, test } from 'vitest'
import { type Attempt, judge, type Loss } from './once.ts'

/** Attempts as `<run><step>`: `!` was done and kept, `?` done, `#` kept, otherwise it was cut. */
const attempts = (text: string): Attempt[] =>
  text.split(' ').map((one) => ({
    run: one.charAt(0),
    step: Number.parseInt(one.slice(1), 10),
    version: '1',
    isAnswered: /[!?]$/.test(one),
    isKept: /[!#]$/.test(one),
  }))
const losses = (runs: string): Loss[] => [...runs].map((run) => ({ run, by: 'kill', version: '1' }))
const judged = (text: string, lost = '') => judge('Task', attempts(text), losses(lost), 3)

describe('the check that each effect of a task runs once', () => {
  test.each([
    ['no loss', 'a1! a2! a3!', '', {}],
    ['a loss in an effect', 'a1! a2 b2! b3!', 'a', { inside: 1 }],
    ['two losses in an effect', 'a1! a2 b2 c2! c3!', 'ab', { inside: 2 }],
    ['a loss between two effects', 'a1! b2! b3!', 'a', { between: 1 }],
    ['a loss on the way to the disk', 'a1? b2! b3!', 'a', { beside: 1 }],
    ['a loss that is reported late', 'a1! b2! a2 b3!', 'a', { inside: 1 }],
    ['a loss that is reported too early', 'a1? b1! b2! b3!', 'a', { beside: 1, besideAgain: 1 }],
  ])('accepts %s', (_, text, lost, falls) => {
    expect(judged(text, lost)).toEqual({ inside: 0, between: 0, beside: 0, besideAgain: 0, ...falls })
  })

  test.each([
    ['an effect runs again without a loss', 'a1! a1! a2! a3!', ''],
    ['a stored effect runs again', 'a1! b1! b2! b3!', 'a'],
    ['an interrupted effect does not run again', 'a1! a2 b3!', 'a'],
    ['an older effect runs again', 'a1! a2 b1! b2! b3!', 'a'],
    ['the handler continues before the result is stored', 'a1? a2! a3!', ''],
    ['an effect is stored that did not run', 'a1! a2# a3!', ''],
    ['an effect is left out', 'a1! a3!', ''],
    ['the last effect is left out', 'a1! a2!', ''],
    ['the last effect is not stored', 'a1! a2! a3?', ''],
    ['a run starts without a loss', 'a1! b2! b3!', ''],
    ['a lost run continues', 'a1! a2! a3!', 'a'],
  ])('finds the violation when %s', (_, text, lost) => {
    expect(() => judged(text, lost)).toThrow()
  })

  test('finds the violation when a run continues with code of an older version', () => {
    const deployed = [{ run: 'a', by: 'deploy', version: '2' }]
    expect(() => judge('Task', attempts('a1! a2 b2! b3!'), deployed, 3)).toThrow(/another version/)
  })
})
