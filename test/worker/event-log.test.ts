import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { defaultLogBounds, EventLog, type ReplayLimits } from '../../durable-objects/shared/event-log.ts'

const namespace = (exports as unknown as { McpSession: DurableObjectNamespace }).McpSession

/** A log of its own, in the storage of an object that nothing else uses. */
const withLog = (bounds: Partial<ReplayLimits>, use: (log: EventLog, sql: SqlStorage) => void) =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { sql } }) =>
    use(
      new EventLog(sql, () => ({
        ...defaultLogBounds,
        maxAgeMs: 1000,
        maxEvents: 100,
        maxCharacters: 1000,
        ...bounds,
      })),
      sql,
    ),
  )

const seqs = (log: EventLog, stream: number, seq: number) => [...log.after({ stream, seq })].map(({ id }) => id.seq)

test('a stream stores its newest events, and refuses to resume from a deleted one', () =>
  withLog({ maxEvents: 3 }, (log) => {
    const stream = log.open(1, 0)
    for (let event = 1; event <= 5; event++) log.append(stream, `event ${event}`)
    expect(seqs(log, stream, 2)).toEqual([3, 4, 5])
    expect(log.onFrom({ stream, seq: 0 }, true)).toEqual({ stream, seq: 0 })
    expect(log.onFrom({ stream, seq: 4 }, true)).toEqual({ stream, seq: 4 })
    expect(log.onFrom({ stream, seq: 6 }, true)).toBeUndefined()
    expect([0, 1, 2, 3, 4, 5, 6].map((seq) => log.onFrom({ stream, seq }) !== undefined)).toEqual([
      ...[false, false],
      ...[true, true, true, true],
      false,
    ])
  }))

test('a stream deletes all events beyond its limits with three statements', () =>
  withLog({ maxEvents: 10, maxCharacters: 10_000 }, (_, sql) => {
    const statements: string[] = []
    const exec: SqlStorage['exec'] = (statement, ...bindings) => {
      statements.push(statement)
      return sql.exec(statement, ...bindings)
    }
    const counted = new Proxy(sql, { get: (_, key) => (key === 'exec' ? exec : Reflect.get(sql, key)) })
    const log = new EventLog(counted, () => ({ ...defaultLogBounds, maxEvents: 10 }))
    const stream = log.open(1, 0)
    for (let event = 1; event <= 200; event++) log.append(stream, `event ${event}`)
    log.write()
    const others = statements.filter((statement) => !statement.startsWith('INSERT INTO events'))
    expect(others.slice(others.findIndex((statement) => statement.includes('max(seq) AS last')))).toEqual([
      expect.stringContaining('max(seq) AS last'),
      expect.stringMatching(/^DELETE FROM events/),
      expect.stringMatching(/^UPDATE streams/),
    ])
    expect(seqs(log, stream, 190)).toHaveLength(10)
    expect(seqs(log, stream, 0)).toHaveLength(10)
  }))

test('a stream stores a limited number of characters, and always its newest event', () =>
  withLog({ maxCharacters: 10 }, (log) => {
    const stream = log.open(1, 0)
    for (const data of ['aaaa', 'bbbb', 'cccc']) log.append(stream, data)
    expect(seqs(log, stream, 1)).toEqual([2, 3])
    log.append(stream, 'd'.repeat(50))
    expect(seqs(log, stream, 3)).toEqual([4])
    expect(log.onFrom({ stream, seq: 2 }) !== undefined).toBe(false)
    log.append(stream, 'e')
    expect(seqs(log, stream, 4)).toEqual([5])
  }))

test('the limit of a stream counts characters of every script alike', () =>
  withLog({ maxEvents: 1000, maxCharacters: 1000 }, (log) => {
    const kept = ['x', '日', '😀'].map((character) => {
      const stream = log.open(1, 0)
      for (let event = 1; event <= 200; event++) log.append(stream, character.repeat(50))
      return seqs(log, stream, 0).length
    })
    expect(kept).toEqual([20, 20, 20])
  }))

test('a notification does not displace a response or request', () =>
  withLog({ maxEvents: 2, maxCharacters: 20 }, (log) => {
    const stream = log.open(3, 0)
    for (const round of [1, 2, 3]) {
      log.append(stream, `note ${round}`)
      log.append(stream, `{"id":${round},"result":"${'x'.repeat(30)}"}`, { isMessage: true })
    }
    for (const round of [4, 5, 6]) log.append(stream, `note ${round}`)
    expect(seqs(log, stream, 0)).toEqual([2, 4, 6, 8, 9])
    log.append(stream, 'y'.repeat(100))
    expect(seqs(log, stream, 0)).toEqual([2, 4, 6, 10])
    expect(log.onFrom({ stream, seq: 0 }, true)).toEqual({ stream, seq: 0 })
    expect([8, 9, 10].map((seq) => log.onFrom({ stream, seq }) !== undefined)).toEqual([false, true, true])
  }))

test.each([
  ['many', { maxResponses: 2 }],
  ['large', { maxResponseCharacters: 10 }],
])('a stream that deleted unread responses, because there were too %s, cannot be resumed before them', (_, bounds) =>
  withLog(bounds, (log) => {
    const stream = log.open(4, 0)
    log.append(stream, 'note')
    for (const response of ['aaaa', 'bbbb', 'cccc', 'dddd']) log.append(stream, response, { isMessage: true })
    expect(seqs(log, stream, 0)).toEqual([1, 4, 5])
    for (const isLenient of [true, false]) {
      const resumable = [0, 1, 2, 3, 4, 5].map((seq) => log.onFrom({ stream, seq }, isLenient) !== undefined)
      expect(resumable).toEqual([false, false, false, true, true, true])
    }
  }),
)

test('the limits of a stream do not affect another stream', () =>
  withLog({ maxEvents: 2 }, (log) => {
    const [one, two] = [log.open(1, 0), log.open(1, 0)]
    for (let event = 1; event <= 4; event++) log.append(one, `one ${event}`)
    log.append(two, 'two 1')
    expect(seqs(log, one, 2)).toEqual([3, 4])
    expect(seqs(log, two, 0)).toEqual([1])
  }))

test('a stream that ended long ago is deleted, and one that continues is not', () =>
  withLog({ maxAgeMs: 1000 }, (log, sql) => {
    const [ended, going] = [log.open(1, 0), log.open(1, 0)]
    for (const stream of [ended, going]) log.append(stream, 'event')
    expect(log.requestAnswered(ended, 0)).toBe(true)
    log.open(1, 1000)
    expect(log.find(ended)).toMatchObject({ over: 1 })
    const last = log.open(1, 1001)
    expect(log.find(ended)).toBeUndefined()
    expect(log.onFrom({ stream: ended, seq: 1 }) !== undefined).toBe(false)
    expect(seqs(log, going, 0)).toEqual([1])
    expect(last).toBeGreaterThan(ended)
    expect(sql.exec('SELECT * FROM events WHERE stream = ?', ended).toArray()).toEqual([])
  }))

describe('the event log of a session', () => {
  const event = 'x'.repeat(100_000)
  /** Opens a stream with a few events; `isFinished`: its request has its answer. */
  const fill = (log: EventLog, isFinished: boolean, now: number) => {
    const stream = log.open(1, now)
    for (let count = 0; count < 5; count++) log.append(stream, event)
    if (isFinished) log.requestAnswered(stream, now)
    return stream
  }

  test('stays below its storage limit: it deletes the oldest finished streams, and no running ones', () =>
    withLog({ maxCharacters: 1e6, maxAgeMs: Number.POSITIVE_INFINITY, maxStorageBytes: 2_000_000 }, (log, sql) => {
      log.openStanding()
      for (let count = 0; count < 4; count++) log.append(0, event)
      const running = fill(log, false, 0)
      const finished = Array.from({ length: 20 }, (_, at) => fill(log, true, at + 1))
      expect(sql.databaseSize).toBeLessThan(2_100_000)
      expect(finished.map((stream) => log.find(stream) !== undefined)).toEqual([...Array(18).fill(false), true, true])
      expect(seqs(log, running, 0)).toEqual([1, 2, 3, 4, 5])
      expect(seqs(log, 0, 0)).toEqual([1, 2, 3, 4])
      expect(sql.exec('SELECT count(*) AS streams FROM streams').one()).toEqual({ streams: 4 })
    }))

  test('deletes finished streams for the events of a running stream as well', () =>
    withLog({ maxCharacters: 1e7, maxAgeMs: Number.POSITIVE_INFINITY, maxStorageBytes: 1_000_000 }, (log, sql) => {
      const [running, finished] = [log.open(1, 0), fill(log, true, 0)]
      expect(log.find(finished)).toBeDefined()
      for (let count = 0; count < 8; count++) log.append(running, event)
      expect(log.find(finished)).toBeUndefined()
      expect(seqs(log, running, 0)).toHaveLength(8)
      expect(sql.databaseSize).toBeLessThan(1_100_000)
    }))

  test('deletes streams in the order in which they ended, however long they ran', () =>
    withLog({ maxAgeMs: Number.POSITIVE_INFINITY }, (log) => {
      const long = log.open(1, 0)
      const others = Array.from({ length: 1000 }, (_, at) => {
        const stream = log.open(1, at)
        log.requestAnswered(stream, at)
        return stream
      })
      log.requestAnswered(long, 1000)
      log.open(1, 1001)
      expect([long, ...others.slice(0, 2)].map((stream) => log.find(stream) !== undefined)).toEqual([true, false, true])
    }))
})

test('an empty event log has no tables', () =>
  withLog({}, (log, sql) => {
    expect(log.find(1)).toBeUndefined()
    expect(log.onFrom({ stream: 1, seq: 0 }) !== undefined).toBe(false)
    expect(sql.exec("SELECT name FROM sqlite_master WHERE name IN ('streams', 'events')").toArray()).toEqual([])
  }))
