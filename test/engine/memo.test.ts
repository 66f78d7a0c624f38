import { describe, expect, test } from 'vitest'
import { emptyMemo, isMemo, withAnswers } from '../../worker/engine/memo.ts'

describe('a memo', () => {
  test('takes answers, the latest for each key', () => {
    const memo = withAnswers(withAnswers(emptyMemo, { a: { result: 1 }, b: { result: 2 } }), { a: { result: 3 } })
    expect(memo).toEqual({ ...emptyMemo, answers: { a: { result: 3 }, b: { result: 2 } } })
    expect(emptyMemo.answers).toEqual({})
  })

  test('has keys that every object has', () => {
    const answers = JSON.parse('{"__proto__":{"result":1}}')
    expect(Object.keys(withAnswers(emptyMemo, answers).answers)).toEqual(['__proto__'])
  })

  test('is known by its members', () => {
    expect(isMemo(emptyMemo)).toBe(true)
    expect(isMemo(JSON.parse(JSON.stringify(emptyMemo)))).toBe(true)
    for (const other of [
      undefined,
      null,
      [],
      {},
      { answers: {} },
      { ...emptyMemo, effects: [] },
      { ...emptyMemo, answers: [] },
    ]) {
      expect(isMemo(other)).toBe(false)
    }
  })
})
