import { expect, test } from 'vitest'
import { differences, judge } from './compare.ts'

const reference = { result: { content: [{ type: 'text', text: 'one' }], isError: true } }
const example = { result: { content: [{ type: 'text', text: 'two' }, 'more'] } }
const found = differences('call echo', reference, example)

test('finds changed, missing and additional values', () => {
  expect(found).toEqual([
    { case: 'call echo', path: 'result.content.0.text', reference: 'one', example: 'two' },
    { case: 'call echo', path: 'result.content.1', reference: '<absent>', example: 'more' },
    { case: 'call echo', path: 'result.isError', reference: true, example: '<absent>' },
  ])
  expect(differences('call echo', reference, structuredClone(reference))).toEqual([])
})

test('reports differences that no entry of the table expects', () => {
  const table = [{ cases: /echo/, path: /text$/, reason: 'other words' }]
  const { unexpected } = judge(found, table, 'a client', ['call echo'])
  expect(unexpected.map(({ path }) => path)).toEqual(['result.content.1', 'result.isError'])
})

test('reports entries of the table whose difference no longer occurs, if their cases ran', () => {
  const gone = { cases: /echo/, path: /structuredContent/, reason: 'no structured content' }
  const table = [{ cases: /echo/, path: /./, reason: 'any' }, gone, { ...gone, cases: /other/ }]
  expect(judge(found, table, 'a client', ['call echo']).gone).toEqual([gone])
  expect(judge(found, [{ ...gone, client: /another/ }], 'a client', ['call echo']).gone).toEqual([])
})
