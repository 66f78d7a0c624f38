/** What the bytes of a body say, wherever it was cut. */
import { expect, test } from 'vitest'
import { positionIn } from '../../worker/http/pass-on-body.ts'
import { eventFrame, keepAlive, primingFrame, retryFrame } from '../../worker/protocol/server-sent-events.ts'

const message = (text: string) => JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { text } })
const first = primingFrame('12.0')
const events = [eventFrame(message('id: 9.9\n\nid: 9.8'), '12.1'), eventFrame(message('\nid: 9.9'), '12.2')]

test('what follows the last whole event is known, wherever the body is cut', () => {
  const body = first + events.join('') + keepAlive
  const ends = [first, first + events[0], first + events.join('')]
  for (let length = 0; length < body.length; length += 1) {
    const known = ends.findLast((end) => end.length <= length) ?? ''
    expect(positionIn(body.slice(0, length)), `cut at ${length}`).toEqual({
      lastId: known === '' ? undefined : `12.${ends.indexOf(known)}`,
      cut: body.slice(known.length, length),
    })
  }
  expect(positionIn(body)).toEqual({ lastId: '12.2', cut: '' })
})

test.each([
  ['comments alone', keepAlive + keepAlive, undefined],
  ['a field without an event', events[0] + retryFrame(20), '12.1'],
])('a body may have %s', (_, body, lastId) => {
  expect(positionIn(body)).toEqual({ lastId, cut: '' })
})
