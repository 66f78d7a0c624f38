import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { EventStreamReader } from '../../worker/client/event-stream-reader.ts'
import { EventStream } from '../../worker/http/event-stream.ts'
import { eventFrame, primingFrame, retryFrame } from '../../worker/protocol/server-sent-events.ts'
import { eventsIn } from '../support/events-in.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function opened({ keepAlive = 1000, backlog = 100 } = {}) {
  const gone = vi.fn()
  const room = vi.fn()
  const stream = new EventStream({ keepAliveMs: keepAlive, maxBufferedBytes: backlog, onGone: gone, onRoom: room })
  const reader = stream.body.getReader()
  const read = async () => {
    const { done, value } = await reader.read()
    return done ? undefined : new TextDecoder().decode(value)
  }
  const rest = async () => {
    let text = ''
    for (let part = await read(); part !== undefined; part = await read()) text += part
    return text
  }
  return { stream, reader, read, rest, gone, room }
}

describe('event stream frames', () => {
  test('are parsed as the events that were sent', () => {
    const reader = new EventStreamReader()
    const text = primingFrame('0.0', 3000) + eventFrame('{"a":1}', '0.1') + eventFrame('{"b":2}') + retryFrame(20)
    expect([...reader.read(new TextEncoder().encode(text))]).toEqual([
      { id: '0.0', data: '', event: undefined, retry: 3000 },
      { id: '0.1', data: '{"a":1}', event: undefined, retry: 3000 },
      { id: undefined, data: '{"b":2}', event: undefined, retry: 3000 },
    ])
    expect(reader.retryMs).toBe(20)
  })

  test('keep line separators of Unicode inside their line', () => {
    const text = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d\ne\rf' })
    expect(eventsIn(eventFrame(text))).toMatchObject([{ data: text }])
  })
})

describe('an event stream', () => {
  test('delivers events in order', async () => {
    const { stream, read } = opened()
    stream.send(eventFrame('one'))
    stream.send(eventFrame('two'))
    expect([await read(), await read()]).toEqual(['data: one\n\n', 'data: two\n\n'])
  })

  test('ends after the events that were sent before end(), and ignores later ones', async () => {
    const { stream, rest, gone } = opened()
    stream.send('one')
    stream.end()
    stream.send('two')
    stream.end()
    expect(await rest()).toBe('one')
    expect(gone).not.toHaveBeenCalled()
  })

  test('sends keep-alive comments until it ends', async () => {
    const { stream, read } = opened({ keepAlive: 1000 })
    const first = read()
    vi.advanceTimersByTime(999)
    stream.send('one')
    expect(await first).toBe('one')
    const second = read()
    vi.advanceTimersByTime(1)
    expect(await second).toBe(': keep-alive\n\n')
    const third = read()
    vi.advanceTimersByTime(1000)
    expect(await third).toBe(': keep-alive\n\n')
    stream.end()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('calls onGone when its reader disconnects', async () => {
    const { stream, reader, gone } = opened()
    await reader.cancel()
    expect(gone).toHaveBeenCalledTimes(1)
    stream.send('more')
    stream.end()
    expect(gone).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not call onGone after it ended', async () => {
    const { stream, reader, gone } = opened()
    stream.end()
    await reader.cancel()
    expect(gone).not.toHaveBeenCalled()
  })

  test('reports whether its buffer has room, in bytes', () => {
    const { stream } = opened({ backlog: 12 })
    expect(stream.hasRoom).toBe(true)
    stream.send('日本日')
    expect(stream.hasRoom).toBe(true)
    stream.send('日')
    expect(stream.hasRoom).toBe(false)
  })

  test('reports when its buffer has room again', async () => {
    const { stream, read, room } = opened({ backlog: 10 })
    stream.send('1234567890')
    await Promise.resolve()
    room.mockClear()
    expect(await read()).toBe('1234567890')
    expect(room).toHaveBeenCalled()
    expect(stream.hasRoom).toBe(true)
  })

  test('ends, with the events that were sent, when nothing was read for two keep-alive intervals', async () => {
    const { stream, rest, gone } = opened({ backlog: 10, keepAlive: 1000 })
    stream.send('12345')
    stream.send('67890')
    vi.advanceTimersByTime(2000)
    expect(gone).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1000)
    expect(gone).toHaveBeenCalledTimes(1)
    expect(stream.hasRoom).toBe(false)
    stream.send('never')
    expect(await rest()).toBe('1234567890')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('stays open for a slow reader that reads', async () => {
    const { stream, read, gone } = opened({ backlog: 10, keepAlive: 1000 })
    for (let part = 0; part < 20; part++) stream.send('12345')
    for (let part = 0; part < 20; part++) {
      expect(await read()).toBe('12345')
      vi.advanceTimersByTime(1000)
    }
    expect(gone).not.toHaveBeenCalled()
  })

  test('stays open for a slow reader that reads a part of a large event', async () => {
    const { stream, read, rest, gone } = opened({ backlog: 10, keepAlive: 1000 })
    const large = '日'.repeat(100_000)
    stream.send(large)
    stream.send('last')
    let size = 0
    for (let part = 0; part < 10; part++) {
      size += new TextEncoder().encode(await read()).byteLength
      vi.advanceTimersByTime(1000)
    }
    expect(size).toBeLessThan(200_000)
    expect(gone).not.toHaveBeenCalled()
    stream.end()
    expect((await rest()).endsWith('last')).toBe(true)
  })

  test('gives a reader two full keep-alive intervals after an idle time', () => {
    const { stream, gone } = opened({ backlog: 100, keepAlive: 1000 })
    vi.advanceTimersByTime(2999)
    stream.send('x'.repeat(200))
    vi.advanceTimersByTime(1001)
    expect(gone).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1000)
    expect(gone).toHaveBeenCalledTimes(1)
  })

  test('stays open for a reader that reads and is sent more at once', async () => {
    const { stream, read, gone } = opened({ backlog: 10, keepAlive: 1000 })
    for (let part = 0; part < 3; part++) stream.send('12345')
    for (let part = 0; part < 20; part++) {
      expect(await read()).toBe('12345')
      stream.send('12345')
      vi.advanceTimersByTime(1000)
    }
    vi.advanceTimersByTime(1000)
    expect(gone).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1000)
    expect(gone).toHaveBeenCalledTimes(1)
  })

  test.each([10_000, 1000, 600])('stays open for a reader of %i bytes a second', async (bytesPerSecond) => {
    const { stream, reader, gone } = opened({ backlog: 1_048_576, keepAlive: 15_000 })
    stream.send('x'.repeat(1_900_000))
    // As a connection does, it reads a part when its client has taken the one before.
    for (let read = 0, second = 0; second < 150; second++) {
      for (; read <= second * bytesPerSecond; read += Number((await reader.read()).value?.length));
      vi.advanceTimersByTime(1000)
    }
    expect(gone).not.toHaveBeenCalled()
    stream.end()
  })

  test('accepts one message that is larger than its buffer', async () => {
    const { stream, read, gone } = opened({ backlog: 10 })
    const large = 'x'.repeat(10_000)
    stream.send(large)
    expect(await read()).toBe(large)
    expect(gone).not.toHaveBeenCalled()
  })

  test('ends when keep-alive comments are not read', () => {
    const { gone } = opened({ keepAlive: 1000, backlog: 50 })
    vi.advanceTimersByTime(1000 * 10)
    expect(gone).toHaveBeenCalledTimes(1)
  })
})
