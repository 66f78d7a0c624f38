import { describe, expect, test } from 'vitest'
import { emptyJournal, isJournal, withAnswers } from '../../worker/engine/journal.ts'

describe('a journal', () => {
  test('stores the latest response for each key', () => {
    const journal = withAnswers(withAnswers(emptyJournal, { a: { result: 1 }, b: { result: 2 } }), { a: { result: 3 } })
    expect(journal).toEqual({ ...emptyJournal, answers: { a: { result: 3 }, b: { result: 2 } } })
    expect(emptyJournal.answers).toEqual({})
  })

  test('accepts keys that are names of inherited members', () => {
    const answers = JSON.parse('{"__proto__":{"result":1}}')
    expect(Object.keys(withAnswers(emptyJournal, answers).answers)).toEqual(['__proto__'])
  })

  test('is recognized by its members', () => {
    expect(isJournal(emptyJournal)).toBe(true)
    expect(isJournal(JSON.parse(JSON.stringify(emptyJournal)))).toBe(true)
    for (const other of [
      undefined,
      null,
      [],
      {},
      { answers: {} },
      { ...emptyJournal, effects: [] },
      { ...emptyJournal, answers: [] },
    ]) {
      expect(isJournal(other)).toBe(false)
    }
  })
})
