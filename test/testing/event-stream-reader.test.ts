/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
import { describe, expect, test } from 'vitest'
import { type Event, EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { eventsIn } from '../support/events-in.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Reads a stream that arrives in chunks of `size` bytes. */
function read(text: string, size = Number.POSITIVE_INFINITY) {
  const comments: string[] = []
  const reader = new EventStreamReader({}, (comment) => comments.push(comment))
  const events: Event[] = []
  const bytes = bytesOf(text)
  for (let at = 0; at < bytes.length; at += size) events.push(...reader.read(bytes.subarray(at, at + size)))
  return { events, comments, lastEventId: reader.lastEventId, retryMs: reader.retryMs }
}

const dataOf = (text: string) => eventsIn(text).map(({ data }) => data)

describe('an event', () => {
  test('ends with an empty line, and is dropped without one', () => {
    expect(dataOf('data: a\n\ndata: b\n')).toEqual(['a'])
  })

  test('has its lines of data, without one space after each colon', () => {
    expect(dataOf('data: a\ndata:b\ndata:  c\ndata\ndata: d: e\n\n')).toEqual(['a\nb\n c\n\nd: e'])
  })

  test('has a line of data, even if it is empty', () => {
    expect(dataOf('data\n\ndata:\n\ndata: \n\nid: 1\nevent: a\n\n\n\n')).toEqual(['', '', ''])
  })

  test('has its own id and type', () => {
    const [first, second, third] = eventsIn('id: 1\nevent: a\ndata:\n\ndata:\n\nid\nevent:\ndata:\n\n')
    expect(first).toMatchObject({ id: '1', event: 'a' })
    expect(second).toMatchObject({ id: undefined, event: undefined })
    expect(third).toMatchObject({ id: '', event: undefined })
  })

  test('has no id of more than 8,192 characters', () => {
    const [longest, longer] = ['x'.repeat(8_192), 'x'.repeat(8_193)]
    expect(eventsIn(`id: ${longest}\ndata: a\n\n`)).toMatchObject([{ id: longest }])
    expect(read(`id: 1\ndata: a\n\nid: ${longer}\ndata: b\n\n`)).toMatchObject({
      events: [{ id: '1' }, { id: undefined, data: 'b' }],
      lastEventId: '1',
    })
  })

  test('does not have the type of an event without data', () => {
    expect(eventsIn('event: a\n\ndata:\n\n')).toMatchObject([{ event: undefined }])
  })
})

describe('a line', () => {
  const mixed = '\u{feff}data: é\u2028\u{1f375}\r\ndata: b\r\r\n: c\n\rid: 1\nretry: 5\n\rdata: d\r\n\r\n'

  test.each([1, 2, 3, 5, Number.POSITIVE_INFINITY])('ends with CR, LF or both, in chunks of %d bytes', (size) => {
    expect(read(mixed, size)).toEqual({
      events: [
        { id: undefined, event: undefined, data: 'é\u2028\u{1f375}\nb', retry: undefined },
        { id: undefined, event: undefined, data: 'd', retry: 5 },
      ],
      comments: ['c'],
      lastEventId: '1',
      retryMs: 5,
    })
  })

  test('ends an event at its CR, before the next chunk', () => {
    expect(dataOf('data: a\r\r')).toEqual(['a'])
  })

  test('of a field that does not exist is ignored', () => {
    const ignored = ['x', 'x: y', ' data: y', 'DATA: y', 'data : y', 'dat', 'datas: y', '\u{feff}data: y']
    expect(dataOf(`data: a\n${ignored.join('\n')}\n\n`)).toEqual(['a'])
  })

  test('that starts with a colon is a comment', () => {
    expect(read('data: a\n:\n: keep-alive\n:data: b\n\n')).toMatchObject({
      events: [{ data: 'a' }],
      comments: ['', 'keep-alive', 'data: b'],
    })
  })

  test('after a byte order mark is read, and one after two is ignored', () => {
    expect(dataOf('\u{feff}data: a\n\n')).toEqual(['a'])
    expect(dataOf('\u{feff}\u{feff}data: a\n\n')).toEqual([])
  })
})

describe('the id to resume from', () => {
  test.each([
    ['of an event', 'id: 1\ndata:\n\n', '1'],
    ['of an event without data', 'data:\nid: 1\n\nid: 2\n\n', '2'],
    ['of an event before one without an id', 'id: 1\ndata:\n\ndata:\n\n', '1'],
    ['not of an event that has not ended', 'id: 1\ndata:\n\nid: 2\ndata:\n', '1'],
    ['not one with a null character', 'id: 1\nid: 2\0\ndata:\n\n', '1'],
    ['none after an empty one', 'id: 1\ndata:\n\nid\n\n', ''],
  ])('is that %s', (_, text, id) => {
    expect(read(text).lastEventId).toBe(id)
  })

  test('remains on the stream that resumes another one, as does its retry time', () => {
    const reader = new EventStreamReader(new EventStreamReader({ lastEventId: '1', retryMs: 5 }))
    expect([...reader.read(bytesOf('data: a\n\n'))]).toMatchObject([{ id: undefined, retry: 5 }])
    expect(reader.lastEventId).toBe('1')
  })
})

test('a retry time has digits only', () => {
  const invalid = ['-1', '1.5', '1e3', ' 2', '2 ', '', '٣'].map((value) => `retry: ${value}\n`)
  expect(read(`retry: 10\n${invalid.join('')}retry\n`).retryMs).toBe(10)
})
