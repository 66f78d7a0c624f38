/** What the inspector shows of a Durable Object. */
import { expect, test } from 'vitest'
import { exposeStorage, type RowsRpc } from '../../worker/plugins/development/expose-storage.ts'

test('key rings are redacted in the rows of every class, under every name', async () => {
  const ring = { current: 'k1', keys: { k1: 'secret' } }
  const stored = [
    ['keys', ring],
    ['ring', ring],
    ['count', 1],
  ]
  const sql = { exec: () => ({ toArray: () => [] }) }
  class Other {
    readonly ctx = { storage: { kv: { list: () => stored }, sql, getAlarm: async () => null } }
  }
  exposeStorage(Other)
  const { values } = await (new Other() as unknown as RowsRpc).edgemcpRows() // tellRows adds the method
  expect(values).toEqual([
    ['keys', '(not shown)'],
    ['ring', '(not shown)'],
    ['count', 1],
  ])
})
