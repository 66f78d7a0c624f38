/** The events in the body of a running stream, wherever the network cuts it. */
import { expect, test } from 'vitest'
import { BodyEvents, lastIdIn } from '../../worker/http/body-events.ts'
import * as closeCode from '../../worker/protocol/close-code.ts'
import { endOfBody, probe } from '../../worker/protocol/relay-messages.ts'
import { eventFrame, primingFrame, retryFrame } from '../../worker/protocol/server-sent-events.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const message = (text: string) => JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { text } })
const first = primingFrame('12.0')
const events = [eventFrame(message('id: 9.9\n\n:1000\n\n'), '12.1'), eventFrame(message('größer ✓ 𝕏'), '12.2')]
const complete = endOfBody(closeCode.complete)

/** Reads a body in parts. Returns the text that is passed on, in parts, and what is known at the end. */
function read(parts: readonly Uint8Array[]) {
  const body = new BodyEvents()
  const whole = parts.flatMap((part) => body.add(part))
  const passed = whole.map((bytes) => decoder.decode(bytes))
  const lastId = whole.map(lastIdIn).findLast((id) => id !== undefined)
  return { passed, text: passed.join(''), lastId, code: body.code }
}

const cutAt = (bytes: Uint8Array, ...at: readonly number[]) =>
  [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length))

test('whole events are passed on, wherever the body is cut twice', () => {
  const text = [first, ...events].join('')
  const bytes = encoder.encode(text + complete)
  for (let one = 1; one < bytes.length; one += 1) {
    for (let other = one + 1; other < Math.min(bytes.length, one + 40); other += 1) {
      const { passed, ...rest } = read(cutAt(bytes, one, other))
      expect(rest, `cut at ${one} and ${other}`).toEqual({ text, lastId: '12.2', code: closeCode.complete })
      expect(passed.filter((part) => !part.endsWith('\n\n'))).toEqual([])
    }
  }
})

test('each byte may arrive alone', () => {
  const text = [first, ...events].join('')
  const { passed, ...rest } = read([...encoder.encode(text + complete)].map((byte) => Uint8Array.of(byte)))
  expect(rest).toEqual({ text, lastId: '12.2', code: closeCode.complete })
  expect(passed).toEqual([first, ...events])
})

test('the first event is passed on alone', () => {
  expect(read([encoder.encode(first + events.join('') + complete)]).passed).toEqual([first, events.join('')])
})

test('an event that a lost object has not finished is left out', () => {
  const bytes = encoder.encode(first + events.join(''))
  const { length } = encoder.encode(first + events[0])
  for (let end = length; end < bytes.length; end += 1) {
    expect(read([bytes.subarray(0, end)])).toMatchObject({ text: first + events[0], lastId: '12.1', code: undefined })
  }
})

test.each([
  ['a body without events', complete, '', undefined, closeCode.complete],
  ['probes alone', probe + probe, probe, undefined, undefined],
  ['a probe after an event', events[0] + probe, events[0], '12.1', undefined],
  [
    'a client that is sent away',
    events[0] + retryFrame(20) + endOfBody(closeCode.released),
    events[0] + retryFrame(20),
    '12.1',
    closeCode.released,
  ],
  ['an end and nothing before its last break', events[0] + complete.slice(0, -1), events[0], '12.1', undefined],
])('%s', (_, body, text, lastId, code) => {
  const { passed: __, ...rest } = read([encoder.encode(body)])
  expect(rest).toEqual({ text, lastId, code })
})
