import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { CallLedger, type LedgerCall } from '../../durable-objects/shared/call-ledger.ts'
import { emptyJournal } from '../../worker/engine/journal.ts'

const namespace = (exports as unknown as { McpSession: DurableObjectNamespace }).McpSession

/** A ledger of its own, in the storage of an object that nothing else uses. */
const withLedger = (use: (ledger: CallLedger) => void) =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { sql } }) => use(new CallLedger(sql)))

const call = (id: number): LedgerCall => ({
  request: { jsonrpc: '2.0', id, method: 'tools/call' },
  stream: id,
  journal: emptyJournal,
  handshake: { version: '2025-11-25', capabilities: {}, client: { name: 'test', version: '1' } },
  session: 'sealed',
  isPersonal: false,
  repeats: 0,
})
const yes = { result: { action: 'accept' } }

test('a call continues with the last of its input responses', () =>
  withLedger((ledger) => {
    const row = ledger.begin(call(1))
    const ids = ledger.ask(row, ['a', 'b'])
    expect([...ids]).toEqual([
      ['a', 'ask-1'],
      ['b', 'ask-2'],
    ])
    expect([...ledger.unasked()]).toEqual([])
    expect(ledger.answer('ask-2', yes)).toBeUndefined()
    expect(ledger.answer('ask-2', { result: 'again' })).toBeUndefined()
    const answered = ledger.answer('ask-1', yes)
    expect(answered).toMatchObject({ row, call: { journal: { answers: { a: yes, b: yes } } } })
    expect([...ledger.unasked()]).toMatchObject([{ row }])
  }))

test('the input requests of a call end with it, and no other call gets their ids', () =>
  withLedger((ledger) => {
    const first = ledger.begin(call(1))
    ledger.ask(first, ['sure'])
    expect(ledger.end(first)).toEqual(['ask-1'])
    const second = ledger.begin(call(2))
    expect(second).not.toBe(first)
    expect(ledger.answer('ask-1', yes)).toBeUndefined()
    ledger.ask(second, ['sure'])
    expect(ledger.answer('ask-1', yes)).toBeUndefined()
    expect(ledger.answer('ask-2', yes)).toMatchObject({ row: second })
  }))

test('a call that waits for input can be cancelled, and one that runs is not cancelled here', () =>
  withLedger((ledger) => {
    const waits = ledger.begin(call(1))
    ledger.ask(waits, ['a', 'b'])
    ledger.begin(call(2))
    expect(ledger.cancel(2)).toBeUndefined()
    expect(ledger.cancel(3)).toBeUndefined()
    expect(ledger.cancel(1)).toEqual({ stream: 1, questions: ['ask-1', 'ask-2'] })
    expect(ledger.has(1)).toBe(false)
    expect(ledger.has(2)).toBe(true)
    expect(ledger.isOpen).toBe(true)
  }))

test('an instance reads what the last one has written: calls, open input requests, responses', () =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { sql } }) => {
    const ledger = new CallLedger(sql)
    const [asks, runs, long] = [ledger.begin(call(1)), ledger.begin(call(2)), ledger.begin(call(3))]
    ledger.rewrite(asks, call(1), 5000)
    ledger.ask(asks, ['a', 'b'])
    ledger.ask(long, ['c'])
    ledger.answer('ask-1', yes)
    ledger.answer('ask-3', { result: { text: 'x'.repeat(20_000) } })
    ledger.write()
    for (const each of [ledger, new CallLedger(sql)]) {
      expect([each.due, each.isOpen, each.has(2), each.has(4)]).toEqual([5000, true, true, false])
      expect([...each.unasked()]).toMatchObject([{ row: runs }, { row: long }])
      expect([...each.unasked()][1]?.call.journal.answers.c).toMatchObject({ result: { text: 'x'.repeat(20_000) } })
      expect(each.question('ask-2')).toMatchObject({ key: 'b', call: { journal: { answers: { a: yes } } } })
      expect(each.question('ask-1')).toBeUndefined()
    }
    expect(new CallLedger(sql).end(asks)).toEqual(['ask-2'])
    expect([...new CallLedger(sql).unasked()]).toMatchObject([{ row: runs }, { row: long }])
  }))

test('a call that ends in the turn of its response is deleted, and the response is not written', () =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { sql } }) => {
    const ledger = new CallLedger(sql)
    const row = ledger.begin(call(1))
    ledger.ask(row, ['a'])
    ledger.write()
    sql.exec("CREATE TRIGGER refused BEFORE UPDATE ON calls BEGIN SELECT RAISE(ABORT, 'written'); END")
    expect(ledger.answer('ask-1', yes)).toMatchObject({ row })
    expect(ledger.end(row)).toEqual([])
    ledger.write()
    expect(new CallLedger(sql).isOpen).toBe(false)
  }))

test('the calls that wait for their client are read one after another', () =>
  runInDurableObject(namespace.getByName(crypto.randomUUID()), (_, { storage: { sql } }) => {
    const ledger = new CallLedger(sql)
    const params = { name: 'long', arguments: { text: 'x'.repeat(100_000) } }
    for (let id = 1; id <= 20; id += 1) {
      ledger.ask(ledger.begin({ ...call(id), request: { ...call(id).request, params } }), ['a'])
    }
    ledger.write()
    const reading = vi.spyOn(JSON, 'parse')
    const waiting = ledger.waiting()
    for (let count = 0; count < 3; count += 1) expect(waiting.next().done).toBe(false)
    const read = reading.mock.calls.filter(([text]) => text.length > 100_000)
    reading.mockRestore()
    expect(read).toHaveLength(3)
  }))
