import { describe, expect, test } from 'vitest'
import { accepts, requireStream } from '../../worker/http/accept.ts'

describe('an Accept header allows', () => {
  test.each<[string | null, boolean, boolean]>([
    [null, true, true],
    ['', true, true],
    [' ', true, true],
    ['*/*', true, true],
    ['application/json, text/event-stream', true, true],
    ['text/event-stream,application/json', true, true],
    ['application/json', true, false],
    ['text/event-stream', false, true],
    ['application/*', true, false],
    ['text/*', false, true],
    ['APPLICATION/JSON', true, false],
    ['Text/Event-Stream', false, true],
    ['application/json; charset=utf-8', true, false],
    ['application/json;q=0.5, text/event-stream;q=1', true, true],
    ['application/json;q=0.001', true, false],
    ['application/json;q=0, text/event-stream', false, true],
    ['application/json, text/event-stream; q=0.0', true, false],
    ['application/json, text/event-stream; Q=0.000', true, false],
    ['*/*, text/event-stream;q=0', true, false],
    ['application/json;q=0, */*', false, true],
    ['text/*, text/event-stream;q=0', false, false],
    ['*/*;q=0', false, false],
    ['text/html', false, false],
    ['text/html, image/png', false, false],
    ['text/html, */*;q=0.1', true, true],
    ['application/json-seq', false, false],
    ['xapplication/json', false, false],
    ['application/problem+json', false, false],
    [',, application/json ,', true, false],
  ])('%j: JSON %s, streams %s', (header, json, stream) => {
    expect(accepts(header)).toEqual({ json, stream })
  })
})

test.each([
  ['application/json', true],
  ['application/json, text/event-stream;q=0', true],
  ['text/event-stream', false],
  [null, false],
])('a response that is a stream is refused for %j: %s', (header, isRefused) => {
  const problem = expect.objectContaining({ kind: 'not_acceptable' })
  const require = () => requireStream(accepts(header))
  if (isRefused) expect(require).toThrow(problem)
  else expect(require).not.toThrow()
})
