import { expect, test } from 'vitest'
import { transcript } from '../../worker/testing/index.ts'

const sealed = (key: string) => `${key}.${'abcdefgh'.repeat(8)}`
const result = (id: number, result: Record<string, unknown>) => ({ jsonrpc: '2.0' as const, id, result })

test('a transcript has one name for each id, time and sealed text', () => {
  const wire = transcript({ names: { order: /\border-\d+/ } })
  const [one, two] = [crypto.randomUUID(), crypto.randomUUID()]
  wire.onMessage('sent', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  wire.onMessage('received', result(1, { receipt: one, text: `${one} and ${two}`, state: sealed('k_1') }))
  wire.onMessage('sent', { jsonrpc: '2.0', method: 'notifications/x', params: { state: sealed('k_1') } })
  wire.onMessage('received', result(2, { at: new Date().toISOString(), for: 'order-77, order-78, order-77' }))
  wire.onMessage('received', { jsonrpc: '2.0', id: 3, error: { code: -32602, message: 'A.word is no sealed.text' } })
  const [long, longer] = ['x'.repeat(90), 'y'.repeat(90)]
  wire.onMessage('received', result(4, { long, longer, short: [{ list: [1, 2] }] }))
  expect(`${wire}`).toBe(`→ 1 tools/list
← 1 result {"receipt":"<uuid 1>","text":"<uuid 1> and <uuid 2>","state":"<sealed 1>"}
→ notifications/x {"state":"<sealed 1>"}
← 2 result {"at":"<time 1>","for":"<order 1>, <order 2>, <order 1>"}
← 3 error {"code":-32602,"message":"A.word is no sealed.text"}
← 4 result {
  "long": "${long}",
  "longer": "${longer}",
  "short": [{"list":[1,2]}]
}
`)
  expect(wire.messages).toHaveLength(6)
})
